// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <utility>

namespace bfly::dataplane {

// A value that one worker uses and that control replaces while the worker runs. The worker takes up
// the value that was offered last when it answers its epoch (grace_period.h). There is always a
// value.
template <typename T>
class Replaceable {
 public:
  explicit Replaceable(std::shared_ptr<T> first)
      : owner_(std::move(first)), offered_(owner_.get()), current_(owner_.get()) {}

  // For the worker.
  T& current() const { return *current_; }
  // If another value was offered, calls `leave(old, next)` and uses the next value from then on.
  template <typename Leave>
  void TakeUp(const Leave& leave) {
    T* const next = offered_.load(std::memory_order_acquire);
    if (next == current_) return;
    leave(*current_, *next);
    current_ = next;
  }

  // For control, one thread at a time.
  const T& offered() const { return *owner_; }
  T& BeforeStart() { return *owner_; }  // while no worker runs
  // Returns the value that was offered before. It must stay until the worker has answered its
  // epoch.
  std::shared_ptr<T> Offer(std::shared_ptr<T> next) {
    offered_.store(next.get(), std::memory_order_release);
    return std::exchange(owner_, std::move(next));
  }

 private:
  std::shared_ptr<T> owner_;  // control only
  std::atomic<T*> offered_;   // control: writes, worker: acquire loads
  T* current_;                // worker only
};

}  // namespace bfly::dataplane
