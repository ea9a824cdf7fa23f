// SPDX-License-Identifier: Apache-2.0
// What the kernel says about the CPUs of the machine. The functions are pure but for the folder
// that they read, which a test can give.
#pragma once

#include <filesystem>
#include <vector>

#include "absl/strings/string_view.h"

namespace bfly::dataplane {

inline constexpr char kCpuFolder[] = "/sys/devices/system/cpu";

// The CPUs of a list of the kernel's, such as "0-3,8"; ascending. Empty if it is no such list.
std::vector<int> ParseCpus(absl::string_view list);

// Isolated CPUs run nothing but what somebody places on them (isolcpus= of the kernel's command
// line, isolated partitions of cpusets).
struct MachineCpus {
  std::vector<int> online;
  std::vector<int> isolated;
};
// Lists that cannot be read are empty.
MachineCpus ReadMachineCpus(const std::filesystem::path& folder = kCpuFolder);

// Whether nobody chose this affinity of a process. The kernel starts the first process, and with it
// all others, on the CPUs that are not isolated. Such a process may use the isolated ones all the
// same; a process of another affinity was kept to it by somebody.
bool OnlyIsolatedAreMissing(const std::vector<int>& affinity, const MachineCpus& machine);

// Which of these CPUs a placement that nobody wrote uses: the isolated ones, or all if none is.
std::vector<int> CpusForWorkers(const std::vector<int>& usable, const std::vector<int>& isolated);
// Which of these CPUs a data plane's other threads use: the ones that are not isolated, or all.
std::vector<int> CpusForControl(const std::vector<int>& usable, const std::vector<int>& isolated);

}  // namespace bfly::dataplane
