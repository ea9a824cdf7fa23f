// SPDX-License-Identifier: Apache-2.0
// The CPUs a data plane may run workers on. The worker of lcore N runs on CPU N and nowhere else,
// but for lcores that tests add.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace bfly::dataplane {

// lcores are numbered 0..kLcoreLimit-1; the highest one that is no CPU of this machine is the
// control's.
inline constexpr int kLcoreLimit = 128;

// CPUs this process was allowed to use when it first asked (taskset, cgroups), below kLcoreLimit,
// ascending.
const std::vector<int>& UsableCpus();

// "0-1,4".
std::string FormatCpus(const std::vector<int>& cpus);

struct Lcore {
  int number = 0;
  int cpu = 0;
};

// The lcores that EAL is started with: one for each usable CPU, and those that were added.
const std::vector<Lcore>& Lcores();
// Before EAL starts: adds lcores until there are `count`. They have the lowest free numbers and
// share the usable CPUs in turn. For tests of more workers than the machine has CPUs.
void AddLcores(int count);

// InvalidArgument "`field`: 9 is not a CPU this process may use (0-1)".
absl::Status CheckCpu(const std::string& field, int lcore);

}  // namespace bfly::dataplane
