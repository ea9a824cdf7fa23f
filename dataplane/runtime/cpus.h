// SPDX-License-Identifier: Apache-2.0
// The CPUs on which a data plane may run workers. The worker of lcore N runs on CPU N only, except
// for lcores that tests add.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace bfly::dataplane {

// lcores are numbered 0..kLcoreLimit-1. The highest number that is not a CPU of this machine is the
// control's lcore.
inline constexpr int kLcoreLimit = 128;

// The CPUs below kLcoreLimit, ascending, that this process was allowed to use at the first call
// (taskset, cgroups).
const std::vector<int>& UsableCpus();

// "0-1,4".
std::string FormatCpus(const std::vector<int>& cpus);

struct Lcore {
  int number = 0;
  int cpu = 0;
};

// The lcores with which EAL is started: one for each usable CPU, and the added ones.
const std::vector<Lcore>& Lcores();
// Adds lcores until there are `count`; call it before EAL starts. The new lcores have the lowest
// free numbers and share the usable CPUs in turn. For tests of more workers than the machine has
// CPUs.
void AddLcores(int count);

// InvalidArgument "`field`: 9 is not a CPU this process may use (0-1)".
absl::Status CheckCpu(const std::string& field, int lcore);

}  // namespace bfly::dataplane
