// SPDX-License-Identifier: Apache-2.0
// The CPU time that a process of the port benches has had.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>

namespace bfly::dataplane {

// In seconds, of all threads together. 0: there is no such process.
struct ProcessTime {
  double all = 0;
  // In system calls, and in the interrupts that they led to. The kernel counts this part in ticks
  // of the clock.
  double kernel = 0;
};

ProcessTime TimeOf(pid_t pid);

// A program must have its CPUs for this part of the time for a ratio. Real-time programs get 0.95.
inline constexpr double kLeastOnCpu = 0.8;

// The part of the time since it was made for which a process that polls had its CPUs.
class CpuShare {
 public:
  CpuShare(pid_t pid, size_t cpus);
  double so_far() const;  // at most 1

 private:
  const pid_t pid_;
  const double cpus_;
  const double before_;  // CPU seconds
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace bfly::dataplane
