// SPDX-License-Identifier: Apache-2.0
// The CPU time and the memory of processes that a bench measures, as the kernel counts them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace bfly::control {

// Returns the CPU time of all threads of a process in seconds, also of those that have ended; 0 if
// there is no such process.
double CpuSecondsOf(pid_t process);

// Seconds.
struct ThreadTime {
  double ran = 0;
  double waited = 0;  // while others ran on its CPU
};
// Adds up the threads of a process that may run on CPU `cpu` and on no other.
ThreadTime PinnedTime(pid_t process, int cpu);

// Bytes. Pages that n processes share count one nth for each of them.
struct ProcessMemory {
  uint64_t all = 0;
  // Of these, what DPDK reserved for the buffers of frames and for the rings of devices.
  uint64_t frame_buffers = 0;
  uint64_t without_frame_buffers() const { return all - frame_buffers; }
};
// Returns zeros if there is no such process, or if it belongs to somebody else.
ProcessMemory MemoryOf(pid_t process);
// Does the same with the text of /proc/PID/smaps.
ProcessMemory MemoryFromSmaps(const std::string& smaps);

}  // namespace bfly::control
