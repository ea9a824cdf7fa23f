// SPDX-License-Identifier: Apache-2.0
// How both daemons are told to end: SIGTERM or SIGINT, taken by the main thread and by no other.
#pragma once

#include <chrono>
#include <csignal>

namespace bfly::control {

class StopSignal {
 public:
  // Make it before any thread is started: threads inherit the blocked signals. Ignores SIGPIPE.
  StopSignal();
  // Blocks until the process is told to end.
  void Wait() const;
  // The same for at most this long; whether it was told to.
  bool WaitFor(std::chrono::milliseconds timeout) const;
  // Tells this process to end; from any thread.
  static void Request();

 private:
  sigset_t signals_;
};

}  // namespace bfly::control
