// SPDX-License-Identifier: Apache-2.0
// When control may free what it took away from workers. Quiescent-state-based reclamation as in
// rte_rcu_qsbr, but a worker keeps pointers from pass to pass, so its report follows what it took
// up anew in the same pass, where rte_rcu_qsbr_quiescent reads and reports at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace bfly::dataplane {

// Of one worker. Control publishes something and asks; the worker sees the question at the start of
// a pass, takes up all that was published, lets go of what it had, and answers.
class PassEpoch {
 public:
  // Worker.
  uint64_t asked() const { return asked_.load(std::memory_order_acquire); }
  bool answered(uint64_t asked) const { return answered_.load(std::memory_order_relaxed) == asked; }
  void Answer(uint64_t asked) { answered_.store(asked, std::memory_order_release); }
  // The worker makes no pass any more.
  void Leave() { answered_.store(UINT64_MAX, std::memory_order_release); }

  // Control, any thread: what the worker is to answer from now on.
  uint64_t Ask() { return asked_.fetch_add(1, std::memory_order_release) + 1; }
  bool Reached(uint64_t asked) const { return answered_.load(std::memory_order_acquire) >= asked; }

 private:
  std::atomic<uint64_t> asked_{0};     // control: writes, worker: acquire loads
  std::atomic<uint64_t> answered_{0};  // worker: writes, control: acquire loads
};

// Questions to some workers. Over when all have answered. Control only; several threads
// may each have one.
class GracePeriod {
 public:
  // Asks a worker; a second question to the same worker replaces the first.
  void Ask(PassEpoch* worker);
  bool over() const;
  // False if it was not over at the deadline.
  bool Wait(std::chrono::steady_clock::time_point deadline) const;

 private:
  std::vector<std::pair<PassEpoch*, uint64_t>> questions_;
};

// What workers may still use, each with the grace period after which they do not. Control only, one
// thread at a time. The destructor frees all of it: the workers have stopped.
class Retired {
 public:
  // Takes `what` away from the workers, which can't find it any more.
  void Add(GracePeriod period, std::shared_ptr<const void> what);
  // Frees what nobody uses any more.
  void Collect();
  size_t size() const { return things_.size(); }

 private:
  std::vector<std::pair<GracePeriod, std::shared_ptr<const void>>> things_;
};

}  // namespace bfly::dataplane
