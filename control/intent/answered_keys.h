// SPDX-License-Identifier: Apache-2.0
// What a fabric answered to orders that had an idempotency key. Not thread-safe.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "control/intent/idempotency.h"
#include "control/intent/order.h"
#include "control/intent/read_order.h"

namespace bfly::control {

struct InBandOutcome;

class AnsweredKeys {
 public:
  // The answer of one order, of a batch of orders, of a batch protocol, of a batch of reads, or of
  // the stage workers.
  using Answer = std::variant<StandingCircuit, std::vector<Outcome>, RouteResult, ReadBatchOutcome,
                              SingleReadsOutcome, std::shared_ptr<const InBandOutcome>>;

  AnsweredKeys();

  // Returns null if the key is new. INVALID_ARGUMENT: the key was used for another request.
  absl::StatusOr<std::shared_ptr<const Answer>> Find(const std::string& key,
                                                     const std::string& request) const;
  // Keeps the answer of a new key. Find knows it at once; to make room for it Commit forgets the
  // oldest keys.
  void Put(const std::string& key, std::string request, Answer answer);
  // Takes back the newest Put since the last Commit.
  void RemoveNewest();
  // Commit keeps the answers that were put since the last Commit; RollBack forgets them.
  void Commit();
  void RollBack();

 private:
  struct Pending {
    std::string request;
    std::shared_ptr<const Answer> answer;
  };
  IdempotencyKeys<Answer> committed_;
  std::unordered_map<std::string, Pending> pending_;
  std::vector<std::string> order_;  // keys of pending_, oldest first
};

}  // namespace bfly::control
