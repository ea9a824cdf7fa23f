// SPDX-License-Identifier: Apache-2.0
// The CPU time that a process of the port benches has had.
#pragma once

#include <sys/types.h>

namespace bfly::dataplane {

// In seconds, of all threads together. 0: there is no such process.
struct ProcessTime {
  double all = 0;
  // In system calls, and in the interrupts that they led to. The kernel counts this part in ticks
  // of the clock.
  double kernel = 0;
};

ProcessTime TimeOf(pid_t pid);

}  // namespace bfly::dataplane
