// SPDX-License-Identifier: Apache-2.0
// Streams of operations, of Circuits and of DataServer: messages are carried out in order and
// answered in order; the next are read meanwhile.
#pragma once

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/services/order_queue.h"
#include "control/status/field_errors.h"

namespace bfly::control {

// Operations whose answers are not written yet. A client that sends faster than answers can be
// written, or does not read them, is held back by the transport once there are so many.
inline constexpr size_t kMaxOpen = 8192;
// Operations of one message.
inline constexpr int kMaxInMessage = 4096;

struct Step {
  uint64_t tag = 0;
  absl::StatusOr<Order> order;
  uint64_t election_id = 0;
};

// What came in one message and is answered by one.
struct Message {
  uint64_t tag = 0;
  bool is_batch = false;
  absl::Status status;  // of a batch that is refused as a whole
  std::vector<Step> steps;
};

// What a message counts for: its operations, and itself.
inline size_t SizeOf(const Message& message) { return message.steps.size() + 1; }

template <class Kind>
Step MissingStep(uint64_t tag) {
  return {tag,
          ErrorAtField(absl::StatusCode::kInvalidArgument, "operation",
                       absl::StrCat("is missing; set ", Kind::kOperations)),
          0};
}

template <class Kind>
Step ToMemberStep(const typename Kind::Operation& operation) {
  if (!operation.has_batch()) return Kind::ToStep(operation);
  return {operation.tag(),
          ErrorAtField(absl::StatusCode::kInvalidArgument, "batch",
                       "stands in a batch; put its operations there themselves"),
          0};
}

// Kind says what the operations are:
//   Operation, Result              messages with a tag; an Operation may have a `batch` of
//                                  `operations`, a Result their `results`
//   static Step ToStep(const Operation&)                 of one that is no batch
//   static void Fill(const Network&, const StandingCircuit&, Result*)   of one that was done
//   kOperations                    what an operation may be, in words
template <class Kind>
Message ToMessage(const typename Kind::Operation& operation) {
  Message message{.tag = operation.tag(),
                  .is_batch = operation.has_batch(),
                  .status = absl::OkStatus(),
                  .steps = {}};
  if (!message.is_batch) {
    message.steps.push_back(Kind::ToStep(operation));
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
  message.steps.reserve(operations.size());
  for (const auto& member : operations) message.steps.push_back(ToMemberStep<Kind>(member));
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

// The answer to `message`, whose outcomes begin at `outcome`.
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
  for (const Step& step : message.steps) {
    FillOutcome<Kind>(network, step.tag, *outcome++, result.add_results());
  }
  return result;
}

// One call. Deletes itself when it is over.
template <class Kind>
class StreamReactor final
    : public grpc::ServerBidiReactor<typename Kind::Operation, typename Kind::Result> {
 public:
  using Result = typename Kind::Result;

  StreamReactor(OrderQueue& queue, grpc::CallbackServerContext* context)
      : queue_(queue), context_(context) {
    this->StartRead(&operation_);
  }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override {
    Change([this] { is_cancelled_ = true; });
  }
  void OnDone() override { delete this; }

  // From any thread, once for each message, in order. `size`: what it counts for in open_.
  void Answer(Result result, size_t size) {
    Change([&] {
      --in_queue_;
      answers_.push_back({std::move(result), size});
    });
  }

 private:
  struct Pending {
    Result result;
    size_t size;
  };

  // Calls `change` with mutex_ and does what is due then. This may be gone afterwards.
  template <class Function>
  void Change(Function&& change);

  OrderQueue& queue_;
  grpc::CallbackServerContext* const context_;
  typename Kind::Operation operation_;  // of the read that is on
  std::mutex mutex_;                    // guards what follows
  size_t in_queue_ = 0;                 // messages
  size_t open_ = 0;                     // operations in the queue and in answers_
  std::deque<Pending> answers_;         // the first is being written if is_writing_
  bool is_writing_ = false;
  bool is_paused_ = false;  // no read is on, but one will be
  bool reads_are_over_ = false;
  bool is_cancelled_ = false;
  bool is_broken_ = false;  // nothing can be written any more
  bool is_finished_ = false;
};

// The operations of one message, carried out one after the other.
template <class Kind>
class MessageWork final : public OrderQueue::Work {
 public:
  MessageWork(Message message, StreamReactor<Kind>& stream)
      : message_(std::move(message)), stream_(stream) {
    const std::vector<Step>& steps = message_.steps;
    outcomes_.assign(steps.size(), absl::UnknownError(""));
    for (size_t i = 0; i < steps.size(); ++i) {
      if (runs_.empty() || runs_.back().job.election_id != steps[i].election_id) {
        runs_.push_back({.first = i, .end = i, .job = {}});
        runs_.back().job.election_id = steps[i].election_id;
      }
      runs_.back().end = i + 1;
    }
    for (Run& run : runs_) {
      run.job.plan = [this, &run](FabricState& state) {
        network_ = state.shared_network();
        for (size_t i = run.first; i < run.end; ++i) {
          const absl::StatusOr<Order>& order = message_.steps[i].order;
          outcomes_[i] = order.ok() ? state.Execute(*order) : order.status();
        }
      };
    }
  }

  void AddJobs(std::vector<Controller::Job*>& jobs) override {
    for (Run& run : runs_) jobs.push_back(&run.job);
  }

  void Done(bool) override {
    for (const Run& run : runs_) {
      if (run.job.status.ok()) continue;
      for (size_t i = run.first; i < run.end; ++i) {
        const absl::StatusOr<Order>& order = message_.steps[i].order;
        outcomes_[i] = order.ok() ? run.job.status : order.status();
      }
    }
    stream_.Answer(ToAnswer<Kind>(network_.get(), message_, outcomes_.data()), SizeOf(message_));
  }

 private:
  // Steps [first, end), which have the same election id.
  struct Run {
    size_t first;
    size_t end;
    Controller::Job job;
  };

  const Message message_;
  StreamReactor<Kind>& stream_;
  std::vector<Outcome> outcomes_;  // of message_.steps
  std::vector<Run> runs_;
  std::shared_ptr<const Network> network_;
};

template <class Kind>
void StreamReactor<Kind>::OnReadDone(bool ok) {
  if (!ok) {
    Change([this] { reads_are_over_ = true; });
    return;
  }
  Message message = ToMessage<Kind>(operation_);
  bool read_on;
  {
    const std::lock_guard lock(mutex_);
    ++in_queue_;
    open_ += SizeOf(message);
    read_on = open_ < kMaxOpen && !is_cancelled_;
    is_paused_ = !read_on;
  }
  OrderQueue& queue = queue_;
  const bool lead = queue.Push(std::make_unique<MessageWork<Kind>>(std::move(message), *this));
  // After the push, so that messages stay in order; before the work, so that the next comes
  // meanwhile. From here on this may be gone.
  if (read_on) this->StartRead(&operation_);
  if (lead) queue.Lead();
}

template <class Kind>
void StreamReactor<Kind>::OnWriteDone(bool ok) {
  // A client that cannot be written to is not read from either.
  if (!ok) context_->TryCancel();
  Change([this, ok] {
    is_writing_ = false;
    is_broken_ |= !ok;
    open_ -= answers_.front().size;
    answers_.pop_front();
  });
}

template <class Kind>
template <class Function>
void StreamReactor<Kind>::Change(Function&& change) {
  const Result* write = nullptr;
  grpc::WriteOptions options;
  bool read = false;
  bool finish = false;
  {
    const std::lock_guard lock(mutex_);
    change();
    while (is_broken_ && !answers_.empty()) {
      open_ -= answers_.front().size;
      answers_.pop_front();
    }
    if (!is_writing_ && !answers_.empty()) {
      is_writing_ = true;
      write = &answers_.front().result;
      if (answers_.size() > 1) options.set_buffer_hint();
    }
    if (is_paused_ && is_cancelled_) {
      is_paused_ = false;
      reads_are_over_ = true;
    } else if (is_paused_ && open_ <= kMaxOpen / 2) {
      is_paused_ = false;
      read = true;
    }
    finish = reads_are_over_ && in_queue_ == 0 && answers_.empty() && !is_finished_;
    is_finished_ |= finish;
  }
  // Without the lock, for gRPC may call back from here. What was decided keeps this alive until it
  // is begun.
  if (write != nullptr) this->StartWrite(write, options);
  if (read) this->StartRead(&operation_);
  if (finish) this->Finish(grpc::Status::OK);
}

}  // namespace bfly::control
