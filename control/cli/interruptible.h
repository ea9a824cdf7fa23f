// SPDX-License-Identifier: Apache-2.0
// Long runs that Ctrl-C ends between two steps, and how far they are.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>

namespace bfly::control {

// While it lives, the first Ctrl-C (or SIGTERM) only makes Interrupted() true. A second one ends
// the process at once, and what runs is lost. The end of the terminal (SIGHUP) makes Interrupted()
// true however often it is told, and is ignored under nohup. One at a time.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  struct sigaction before_int_ = {}, before_term_ = {}, before_hang_up_ = {};
};

bool Interrupted();

// "[######........]", 32 characters. `total` is not 0.
std::string ProgressBar(size_t done, size_t total);

}  // namespace bfly::control
