// SPDX-License-Identifier: Apache-2.0
// How both daemons learn that they should end: the main thread alone takes SIGTERM and SIGINT.
#pragma once

#include <chrono>
#include <csignal>

namespace bfly::control {

class StopSignal {
 public:
  // Make it before any other thread starts, because threads inherit the blocked signals. Ignores
  // SIGPIPE.
  StopSignal();
  // Blocks until the process is told to end.
  void Wait() const;
  // The same, but waits at most `timeout`. Returns whether the process was told to end.
  bool WaitFor(std::chrono::milliseconds timeout) const;
  // Tells this process to end. Any thread may call it.
  static void Request();

 private:
  sigset_t signals_;
};

}  // namespace bfly::control
