// SPDX-License-Identifier: Apache-2.0
// Tells when control may free objects that it took away from workers. This is quiescent-state-based
// reclamation as in rte_rcu_qsbr. But a worker keeps pointers from pass to pass, so it must read
// the question, take up the new objects in the same pass, and only then answer;
// rte_rcu_qsbr_quiescent reads and answers at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bfly::dataplane {

// How long control waits for a pass of the workers after a change.
inline constexpr std::chrono::seconds kTakeUpTime{2};
// DeadlineExceeded: a worker made no pass within kTakeUpTime. `consequence` says what becomes of
// the change: "the port is not added".
absl::Status NotTakenUp(absl::string_view consequence);

// The epoch of one worker. Control publishes something and asks. The worker sees the question at
// the start of a pass, takes up everything that was published, lets go of the replaced objects, and
// answers.
class PassEpoch {
 public:
  // For the worker.
  uint64_t asked() const { return asked_.load(std::memory_order_acquire); }
  bool answered(uint64_t asked) const { return answered_.load(std::memory_order_relaxed) == asked; }
  void Answer(uint64_t asked) { answered_.store(asked, std::memory_order_release); }
  // Notes that the worker makes no further pass.
  void Leave() { answered_.store(UINT64_MAX, std::memory_order_release); }

  // For control, on any thread: asks, and returns the number that the worker will answer.
  uint64_t Ask() { return asked_.fetch_add(1, std::memory_order_release) + 1; }
  bool Reached(uint64_t asked) const { return answered_.load(std::memory_order_acquire) >= asked; }

 private:
  std::atomic<uint64_t> asked_{0};     // control: writes, worker: acquire loads
  std::atomic<uint64_t> answered_{0};  // worker: writes, control: acquire loads
};

// Questions to some workers; the period is over when all workers have answered. For control only,
// but several threads may each have a period.
class GracePeriod {
 public:
  // Asks a worker; a second question to the same worker replaces the first.
  void Ask(PassEpoch* worker);
  bool over() const;
  // Returns false if the period is not over at the deadline.
  bool Wait(std::chrono::steady_clock::time_point deadline) const;

 private:
  std::vector<std::pair<PassEpoch*, uint64_t>> questions_;
};

// Things that workers may still use, each with the grace period after which no worker uses it. For
// control only, one thread at a time. The destructor frees everything, so the workers must have
// stopped.
class Retired {
 public:
  // Keeps `what` until the period is over. The workers must no longer be able to find it.
  void Add(GracePeriod period, std::shared_ptr<const void> what);
  // Frees everything whose period is over.
  void Collect();
  size_t size() const { return things_.size(); }

 private:
  std::vector<std::pair<GracePeriod, std::shared_ptr<const void>>> things_;
};

}  // namespace bfly::dataplane
