// SPDX-License-Identifier: Apache-2.0
// The messages of operations, of Circuits and of DataServer: what a stream carries out, and what it
// answers.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/intent/fabric_state.h"
#include "control/status/field_errors.h"

namespace bfly::control {

// How many operations one message may have.
inline constexpr int kMaxInMessage = 4096;
// An operation with a path and a key takes less memory than this. A larger one counts for several.
inline constexpr size_t kOperationBytes = 1024;

// An operation of a stream.
struct TaggedOrder {
  uint64_t tag = 0;
  absl::StatusOr<Order> order;
  uint64_t election_id = 0;
};

// The operations that came in one message and are answered by one.
struct Message {
  uint64_t tag = 0;
  bool is_batch = false;
  absl::Status status;  // of a batch that is refused as a whole
  std::vector<TaggedOrder> orders;
  size_t bytes = 0;  // of memory, as it came
};

// What a message counts for: itself and its operations, or more if the operations are large.
inline size_t SizeOf(const Message& message) {
  return 1 + std::max(message.orders.size(), message.bytes / kOperationBytes);
}

template <class Kind>
TaggedOrder MissingOrder(uint64_t tag) {
  return {tag,
          ErrorAtField(absl::StatusCode::kInvalidArgument, "operation",
                       absl::StrCat("is missing; set ", Kind::kOperations)),
          0};
}

template <class Kind>
TaggedOrder ToMemberOrder(const typename Kind::Operation& operation) {
  if (!operation.has_batch()) return Kind::ToTaggedOrder(operation);
  return {operation.tag(),
          ErrorAtField(absl::StatusCode::kInvalidArgument, "batch",
                       "stands in a batch; put its operations there themselves"),
          0};
}

// Kind says what the operations are:
//   Operation, Result              messages with a tag; an Operation may have a `batch` of
//                                  `operations`, a Result their `results`
//   static TaggedOrder ToTaggedOrder(const Operation&)                 of one that is not a batch
//   static void Fill(const Network&, const StandingCircuit&, Result*)   of one that was done
//   kOperations                    what an operation may be, in words
template <class Kind>
Message ToMessage(const typename Kind::Operation& operation, size_t bytes) {
  Message message{.tag = operation.tag(),
                  .is_batch = operation.has_batch(),
                  .status = absl::OkStatus(),
                  .orders = {},
                  .bytes = bytes};
  if (!message.is_batch) {
    message.orders.push_back(Kind::ToTaggedOrder(operation));
    return message;
  }
  const auto& operations = operation.batch().operations();
  if (operations.size() > kMaxInMessage) {
    message.status =
        ErrorAtField(absl::StatusCode::kResourceExhausted, "batch.operations",
                     absl::StrCat("has ", operations.size(), " operations, at most ", kMaxInMessage,
                                  " are allowed; send several messages"));
    return message;
  }
  message.orders.reserve(operations.size());
  for (const auto& member : operations) message.orders.push_back(ToMemberOrder<Kind>(member));
  return message;
}

template <class Kind>
void FillOutcome(const Network* network, uint64_t tag, const Outcome& outcome,
                 typename Kind::Result* result) {
  result->set_tag(tag);
  if (outcome.ok() && network != nullptr) {
    Kind::Fill(*network, *outcome, result);
    return;
  }
  result->set_code(static_cast<int>(outcome.status().code()));
  result->set_message(std::string(outcome.status().message()));
}

// Makes the answer to `message`. Its outcomes begin at `outcome`.
template <class Kind>
typename Kind::Result ToAnswer(const Network* network, const Message& message,
                               const Outcome* outcome) {
  typename Kind::Result result;
  if (!message.is_batch) {
    FillOutcome<Kind>(network, message.tag, *outcome, &result);
    return result;
  }
  result.set_tag(message.tag);
  if (!message.status.ok()) {
    FillOutcome<Kind>(network, message.tag, message.status, &result);
    return result;
  }
  for (const TaggedOrder& order : message.orders) {
    FillOutcome<Kind>(network, order.tag, *outcome++, result.add_results());
  }
  return result;
}

}  // namespace bfly::control
