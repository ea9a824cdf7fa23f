// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "control/doctor/check.h"

namespace bfly::control {
namespace {

constexpr char kCpus[] = "/sys/devices/system/cpu";

std::set<std::string> CpuFlags(const Machine& machine) {
  return absl::StrSplit(machine.Value("/proc/cpuinfo", "flags").value_or(""), ' ',
                        absl::SkipEmpty());
}

std::string CountOfCpus(size_t count) { return absl::StrCat(count, count == 1 ? " CPU" : " CPUs"); }

}  // namespace

Finding CheckInstructions(const Machine& machine) {
  const std::set<std::string> flags = CpuFlags(machine);
  // DPDK of Debian is built for these.
  std::vector<std::string> lacking;
  for (const char* flag : {"ssse3", "sse4_1", "sse4_2", "popcnt"}) {
    if (flags.count(flag) == 0) lacking.emplace_back(flag);
  }
  if (lacking.empty()) return {Fitness::kOk, "the CPU has SSE4.2"};
  return {Fitness::kMissing, absl::StrCat("the CPU lacks ", absl::StrJoin(lacking, ", ")),
          "use a machine, or a CPU model of the virtual machine (-cpu host), that has SSE4.2"};
}

Finding CheckIsolatedCpus(const Machine& machine) {
  const size_t online = machine.Cpus(absl::StrCat(kCpus, "/online")).size();
  const std::vector<int> isolated = machine.Cpus(absl::StrCat(kCpus, "/isolated"));
  const std::string list = machine.Text(absl::StrCat(kCpus, "/isolated")).value_or("");
  if (!isolated.empty()) {
    return {Fitness::kOk, absl::StrCat(CountOfCpus(isolated.size()), " of ", online,
                                       " for workers alone: ", list)};
  }
  if (online < 2) {
    return {Fitness::kSlower, "the machine has one CPU, which workers and the kernel share",
            "use a machine with more CPUs"};
  }
  const std::string last = online == 2 ? "1" : absl::StrCat("1-", online - 1);
  return {
      Fitness::kSlower,
      absl::StrCat("none of ", CountOfCpus(online),
                   " is isolated: the kernel runs other programs between the passes of workers"),
      absl::StrCat("add to the kernel's command line: isolcpus=", last, " nohz_full=", last,
                   " rcu_nocbs=", last)};
}

Finding CheckGovernor(const Machine& machine) {
  std::set<std::string> governors;
  for (const std::string& name : machine.Names(kCpus)) {
    const auto governor = machine.Text(absl::StrCat(kCpus, "/", name, "/cpufreq/scaling_governor"));
    if (governor.has_value()) governors.insert(*governor);
  }
  if (governors.empty()) return {Fitness::kOk, "the kernel does not change the CPUs' frequency"};
  if (governors == std::set<std::string>{"performance"}) return {Fitness::kOk, "performance"};
  return {Fitness::kSlower, absl::StrJoin(governors, ", "),
          "cpupower frequency-set --governor performance"};
}

Finding CheckClock(const Machine& machine) {
  const std::set<std::string> flags = CpuFlags(machine);
  const std::string source =
      machine.Text("/sys/devices/system/clocksource/clocksource0/current_clocksource")
          .value_or("unknown");
  const bool invariant = flags.count("constant_tsc") != 0 && flags.count("nonstop_tsc") != 0;
  if (!invariant) {
    return {Fitness::kSlower,
            "the TSC, by which workers keep time, changes its rate or stops (no constant_tsc and "
            "nonstop_tsc in /proc/cpuinfo): delays and rates are wrong by as much",
            "in a virtual machine: -cpu host,+invtsc; else use another machine for measurements"};
  }
  if (source == "tsc" || source == "kvm-clock" || source == "hyperv_clocksource_tsc_page") {
    return {Fitness::kOk, absl::StrCat("invariant TSC; clock source ", source)};
  }
  return {
      Fitness::kSlower,
      absl::StrCat("clock source ", source, ": the kernel found the TSCs of the CPUs to differ"),
      "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, or add "
      "tsc=reliable to the kernel's command line if you know that they agree"};
}

Finding CheckNuma(const Machine& machine) {
  constexpr char kNodes[] = "/sys/devices/system/node";
  std::vector<std::string> nodes;
  std::vector<std::string> bare;  // nodes without hugepages
  for (const std::string& name : machine.Names(kNodes)) {
    if (!absl::StartsWith(name, "node") || name.size() == 4) continue;
    const std::string node = absl::StrCat(kNodes, "/", name);
    nodes.push_back(absl::StrCat(name, ": CPUs ", machine.Text(node + "/cpulist").value_or("?")));
    uint64_t pages = 0;
    for (const std::string& size : machine.Names(node + "/hugepages")) {
      pages += machine.Number(absl::StrCat(node, "/hugepages/", size, "/nr_hugepages")).value_or(0);
    }
    if (pages == 0) bare.push_back(name);
  }
  if (nodes.size() < 2) return {Fitness::kOk, "one node"};
  const std::string found = absl::StrJoin(nodes, "; ");
  if (bare.empty() || machine.MostHugepages().reserved == 0) return {Fitness::kOk, found};
  return {Fitness::kSlower, absl::StrCat(found, "; no hugepages on ", absl::StrJoin(bare, ", ")),
          absl::StrCat("echo 512 > ", kNodes, "/", bare.front(),
                       "/hugepages/hugepages-2048kB/nr_hugepages")};
}

}  // namespace bfly::control
