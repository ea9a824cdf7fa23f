// SPDX-License-Identifier: Apache-2.0
// The CPUs of the threads that serve the control of a data plane: the threads of gRPC, of DPDK's
// telemetry and interrupts, and the thread that started EAL. The kernel starts such a thread on any
// CPU that the thread may use, also in the middle of a worker's pass.
#pragma once

#include <sys/types.h>

#include <vector>

namespace bfly::dataplane {

// The threads of a process; empty if there is no such process.
std::vector<pid_t> ThreadsOf(pid_t process);

// Moves every thread of this process except DPDK's lcores to the CPUs for control (machine_cpus.h)
// that are not in `worker_cpus`, or to all CPUs for control if no CPU is left. Threads that they
// start later inherit these CPUs. A thread that ends meanwhile is skipped. Call it from one thread
// at a time.
void KeepControlThreadsOff(const std::vector<int>& worker_cpus);

// Moves all threads of another process likewise. If this process may not move them, they stay where
// they are.
void KeepProcessOff(pid_t process, const std::vector<int>& worker_cpus);

}  // namespace bfly::dataplane
