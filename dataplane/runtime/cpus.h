// SPDX-License-Identifier: Apache-2.0
// The CPUs on which a data plane may run workers. The worker of lcore N runs on CPU N only, except
// for lcores that tests add.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace bfly::dataplane {

// CPUs are numbered 0..kCpuLimit-1, as DPDK's sets of CPUs are.
inline constexpr int kCpuLimit = 1024;
// DPDK has 128 lcores in a process (RTE_MAX_LCORE), and the control takes one (eal_lcores.h).
inline constexpr int kMostWorkers = 127;

// The CPUs below kCpuLimit, ascending, that this process was allowed to use at the first call
// (taskset, cgroups). They include isolated CPUs if only the isolation keeps the process off them
// (machine_cpus.h).
const std::vector<int>& UsableCpus();
// Tells UsableCpus() that a user chose the affinity of this process, so that no isolated CPU is
// added to it. Call it before the first call of UsableCpus().
void KeepToAffinity();

// The CPUs of all threads of a process of this machine, ascending. Those of a bfly-dataplane are
// its usable CPUs: it has a thread for each lcore, pinned to the lcore's CPU, and no thread on
// another CPU. Empty if there is no such process.
std::vector<int> CpusOfThreads(pid_t process);

// "0-1,4".
std::string FormatCpus(const std::vector<int>& cpus);

struct Lcore {
  int number = 0;
  int cpu = 0;
};

// The lcores that workers may have: one for each usable CPU, and the added lcores.
const std::vector<Lcore>& Lcores();
// The CPU of an lcore, or nothing if there is no such lcore.
std::optional<int> CpuOfLcore(int number);
// Adds lcores until there are `count`; call it before EAL starts. The new lcores have the lowest
// free numbers and share the usable CPUs in turn. For tests of more workers than the machine has
// CPUs.
void AddLcores(int count);

// InvalidArgument "`field`: 9 is not a CPU this process may use (0-1)".
absl::Status CheckCpu(const std::string& field, int lcore);

}  // namespace bfly::dataplane
