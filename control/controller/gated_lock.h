// SPDX-License-Identifier: Apache-2.0
// A lock that many readers share and that lets a writer in, however many readers come.
//
// std::shared_mutex of glibc prefers readers: while there is always one reader, a writer waits for
// ever.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace bfly::control {

// Works with std::unique_lock and std::shared_lock. A thread that holds the lock must not take it
// again, not even to read a second time: a writer that waits in between keeps the thread out.
class GatedLock {
 public:
  // A writer keeps the gate closed while it waits for the readers before it.
  void lock() {
    const std::lock_guard gate(gate_);
    state_.lock();
  }
  void unlock() { state_.unlock(); }
  void lock_shared() {
    { const std::lock_guard gate(gate_); }
    state_.lock_shared();
  }
  void unlock_shared() { state_.unlock_shared(); }

 private:
  std::mutex gate_;
  std::shared_mutex state_;
};

}  // namespace bfly::control
