// SPDX-License-Identifier: Apache-2.0
// What the kernel says about the CPUs of the machine. The functions are pure, except that they read
// a folder, which a test can give.
#pragma once

#include <filesystem>
#include <vector>

#include "absl/strings/string_view.h"

namespace bfly::dataplane {

inline constexpr char kCpuFolder[] = "/sys/devices/system/cpu";

// The CPUs of a list as the kernel writes it, such as "0-3,8", in ascending order. Empty if the
// text is not such a list.
std::vector<int> ParseCpus(absl::string_view list);

// Isolated CPUs run only threads that are placed on them explicitly (isolcpus= of the kernel's
// command line, isolated partitions of cpusets).
struct MachineCpus {
  std::vector<int> online;
  std::vector<int> isolated;
};
// Lists that cannot be read are empty.
MachineCpus ReadMachineCpus(const std::filesystem::path& folder = kCpuFolder);

// Whether a process has the affinity that the kernel gives by default, so that no user or program
// chose it. The kernel starts the first process, and with it all others, on the CPUs that are not
// isolated. A process with this affinity may still use the isolated CPUs; any other affinity was
// set on purpose.
bool OnlyIsolatedAreMissing(const std::vector<int>& affinity, const MachineCpus& machine);

// Which of these CPUs a default placement uses: the isolated CPUs, or all if no CPU is isolated.
std::vector<int> CpusForWorkers(const std::vector<int>& usable, const std::vector<int>& isolated);
// Which of these CPUs a data plane's other threads use: the CPUs that are not isolated, or all if
// every CPU is isolated.
std::vector<int> CpusForControl(const std::vector<int>& usable, const std::vector<int>& isolated);

}  // namespace bfly::dataplane
