// SPDX-License-Identifier: Apache-2.0
// The lcores of DPDK. DPDK numbers them from 0 to 127 whatever the CPUs of the machine are, so the
// worker of lcore 200, which runs on CPU 200, has another number within DPDK.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::dataplane {

// DPDK's number of the thread that started it.
inline constexpr int kControlLcore = kMostWorkers;

class EalLcores {
 public:
  // A thread of DPDK's.
  struct Thread {
    int number = 0;  // DPDK's number, 0..kMostWorkers-1
    int cpu = 0;     // the CPU to which the worker pins it; kNowhere: the worker could not pin it
    // The thread is pinned to another CPU, so the worker has to move it.
    bool moves = false;
  };

  // Plans a thread for each of the lcores, at most kMostWorkers. The thread of an lcore below
  // kMostWorkers has the number of the lcore.
  explicit EalLcores(const std::vector<Lcore>& lcores);

  // The threads with which DPDK starts, ordered by number.
  std::vector<Thread> threads() const;

  // Any thread. Takes the thread of an lcore for a worker. If the lcore has no thread, or another
  // lcore's worker has its thread, takes the last free thread. FailedPrecondition: a worker has the
  // lcore, or there are kMostWorkers workers. InvalidArgument: there is no such lcore.
  absl::StatusOr<Thread> Take(int lcore);
  void GiveBack(const Thread& thread);
  static constexpr int kNowhere = -1;

 private:
  static constexpr int kNobody = -1;
  struct Slot {
    int cpu;              // the CPU to which the thread is pinned while no worker has it
    int taken = kNobody;  // the lcore whose worker has it
  };
  const std::vector<Lcore> lcores_;
  std::map<int, int> own_;     // lcore -> number of its thread
  std::map<int, Slot> slots_;  // slots by number
  std::mutex mutex_;           // guards the slots
};

// The threads of this process's lcores. The first call makes them, for the lcores that exist then.
EalLcores& ProcessLcores();

}  // namespace bfly::dataplane
