// SPDX-License-Identifier: Apache-2.0
// A lock that threads hold while they ask data planes. A call waits for it no longer than until its
// deadline.
//
// std::timed_mutex would do, but ThreadSanitizer does not know the function by which it waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "control/controller/deadline.h"

namespace bfly::control {

// Works with std::unique_lock and std::lock_guard.
class TimedLock {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, [this] { return !held_; });
    --waiting_;
    held_ = true;
  }
  bool try_lock() {
    const std::lock_guard lock(mutex_);
    return !std::exchange(held_, true);
  }
  // Returns false if the lock was not free by the deadline.
  bool try_lock_until(Deadline deadline) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    const bool free = changed_.wait_until(lock, deadline, [this] { return !held_; });
    --waiting_;
    if (free) held_ = true;
    return free;
  }
  void unlock() {
    bool wanted = false;
    {
      const std::lock_guard lock(mutex_);
      held_ = false;
      wanted = waiting_ != 0;
    }
    if (wanted) changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;  // mutex_
  int waiting_ = 0;    // mutex_: threads
};

// Takes the lock. Asks `interrupt` several times a second while the lock is not free, and returns
// its error if it has one. An empty `interrupt` never has one.
inline absl::StatusOr<std::unique_lock<TimedLock>> LockPatiently(
    TimedLock& lock, const std::function<absl::Status()>& interrupt) {
  constexpr std::chrono::milliseconds kLook{20};
  std::unique_lock taken(lock, std::defer_lock);
  do {
    const absl::Status status = interrupt ? interrupt() : absl::OkStatus();
    if (!status.ok()) return status;
  } while (!taken.try_lock_until(Deadline::clock::now() + kLook));
  return taken;
}

}  // namespace bfly::control
