// SPDX-License-Identifier: Apache-2.0
#include "control/cli/machine_facts.h"

#include <sys/utsname.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/bench_report.h"

namespace bfly::control {
namespace {

namespace fs = std::filesystem;
constexpr char kUnknown[] = "unknown";
constexpr int kMostNumaNodes = 64;

std::string FirstLineOf(const fs::path& path, const std::string& if_empty) {
  std::ifstream file(path);
  std::string line;
  if (!file.is_open() || !file.good()) return kUnknown;
  std::getline(file, line);
  return line.empty() ? if_empty : line;
}

std::string Governors() {
  std::set<std::string> governors;
  std::error_code error;
  for (const fs::directory_entry& cpu : fs::directory_iterator("/sys/devices/system/cpu", error)) {
    const fs::path governor = cpu.path() / "cpufreq/scaling_governor";
    if (fs::exists(governor, error)) governors.insert(FirstLineOf(governor, kUnknown));
  }
  return governors.empty() ? "unknown (the kernel shows none)" : absl::StrJoin(governors, ", ");
}

std::string Hugepages() {
  std::vector<std::string> pools;
  std::error_code error;
  for (const fs::directory_entry& pool :
       fs::directory_iterator("/sys/kernel/mm/hugepages", error)) {
    const std::string size = pool.path().filename().string();
    pools.push_back(absl::StrCat(FirstLineOf(pool.path() / "nr_hugepages", "0"), " of ",
                                 size.substr(size.find('-') + 1)));
  }
  return pools.empty() ? kUnknown : absl::StrJoin(pools, ", ");
}

// "0: CPUs 0-15; 1: CPUs 16-31".
std::string NumaNodes() {
  std::vector<std::string> nodes;
  std::error_code error;
  for (int node = 0; node < kMostNumaNodes; ++node) {
    const fs::path of_node = absl::StrCat("/sys/devices/system/node/node", node);
    if (!fs::exists(of_node, error)) continue;
    nodes.push_back(absl::StrCat(node, ": CPUs ", FirstLineOf(of_node / "cpulist", "none")));
  }
  return nodes.empty() ? kUnknown : absl::StrJoin(nodes, "; ");
}

std::string Kernel() {
  utsname name{};
  return uname(&name) == 0 ? absl::StrCat(name.sysname, " ", name.release) : kUnknown;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> MachineFacts() {
  const fs::path system = "/sys/devices/system";
  return {
      {"processor", ProcessorName()},
      {"cpus", FirstLineOf(system / "cpu/online", kUnknown)},
      {"governor", Governors()},
      {"isolated_cpus", FirstLineOf(system / "cpu/isolated", "none")},
      {"cpus_of_core_0", FirstLineOf(system / "cpu/cpu0/topology/thread_siblings_list", kUnknown)},
      {"numa_nodes", NumaNodes()},
      {"hugepages", Hugepages()},
      {"clock_source",
       FirstLineOf(system / "clocksource/clocksource0/current_clocksource", kUnknown)},
      {"kernel", Kernel()},
      {"compiler", BFLY_COMPILER}};
}

}  // namespace bfly::control
