// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/machine_cpus.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::dataplane {
namespace {

std::vector<int> ReadCpus(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string list;
  std::getline(in, list);
  return ParseCpus(list);
}

std::vector<int> Difference(const std::vector<int>& cpus, const std::vector<int>& others) {
  std::vector<int> left;
  std::set_difference(cpus.begin(), cpus.end(), others.begin(), others.end(),
                      std::back_inserter(left));
  return left;
}

}  // namespace

std::vector<int> ParseCpus(absl::string_view list) {
  std::set<int> cpus;
  for (const absl::string_view range : absl::StrSplit(absl::StripAsciiWhitespace(list), ',')) {
    const std::pair<absl::string_view, absl::string_view> ends =
        absl::StrSplit(range, absl::MaxSplits('-', 1));
    int first = 0, last = 0;
    if (!absl::SimpleAtoi(ends.first, &first) ||
        !absl::SimpleAtoi(ends.second.empty() ? ends.first : ends.second, &last) || first < 0 ||
        last < first) {
      return {};
    }
    for (int cpu = first; cpu <= std::min(last, kCpuLimit - 1); ++cpu) cpus.insert(cpu);
  }
  return {cpus.begin(), cpus.end()};
}

MachineCpus ReadMachineCpus(const std::filesystem::path& folder) {
  return {.online = ReadCpus(folder / "online"), .isolated = ReadCpus(folder / "isolated")};
}

bool OnlyIsolatedAreMissing(const std::vector<int>& affinity, const MachineCpus& machine) {
  return !machine.isolated.empty() && affinity == Difference(machine.online, machine.isolated);
}

std::vector<int> CpusForWorkers(const std::vector<int>& usable, const std::vector<int>& isolated) {
  std::vector<int> both;
  std::set_intersection(usable.begin(), usable.end(), isolated.begin(), isolated.end(),
                        std::back_inserter(both));
  return both.empty() ? usable : both;
}

std::vector<int> CpusForControl(const std::vector<int>& usable, const std::vector<int>& isolated) {
  const std::vector<int> others = Difference(usable, isolated);
  return others.empty() ? usable : others;
}

}  // namespace bfly::dataplane
