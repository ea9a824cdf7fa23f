// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/cpus.h"

#include <sched.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {
namespace {

std::vector<int> ReadAffinity() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {0};
  // One lcore number is left for the control (runtime/eal.h).
  for (int cpu = 0; cpu < kLcoreLimit - 1; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<Lcore>& MutableLcores() {
  static std::vector<Lcore> lcores = [] {
    std::vector<Lcore> one_each;
    for (int cpu : UsableCpus()) one_each.push_back({cpu, cpu});
    return one_each;
  }();
  return lcores;
}

bool IsLcore(int number) {
  return std::any_of(Lcores().begin(), Lcores().end(),
                     [number](const Lcore& lcore) { return lcore.number == number; });
}

}  // namespace

const std::vector<int>& UsableCpus() {
  static const std::vector<int> cpus = ReadAffinity();
  return cpus;
}

std::string FormatCpus(const std::vector<int>& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t j = i;
    while (j + 1 < cpus.size() && cpus[j + 1] == cpus[j] + 1) ++j;
    absl::StrAppend(&text, i ? "," : "", cpus[i]);
    if (j > i) absl::StrAppend(&text, "-", cpus[j]);
    i = j + 1;
  }
  return text;
}

const std::vector<Lcore>& Lcores() { return MutableLcores(); }

void AddLcores(int count) {
  const std::vector<int>& cpus = UsableCpus();
  std::vector<Lcore>& lcores = MutableLcores();
  for (int number = 0; number < kLcoreLimit - 1 && static_cast<int>(lcores.size()) < count;
       ++number) {
    if (!IsLcore(number)) lcores.push_back({number, cpus[lcores.size() % cpus.size()]});
  }
}

absl::Status CheckCpu(const std::string& field, int lcore) {
  const std::vector<int>& cpus = UsableCpus();
  if (IsLcore(lcore)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": ", lcore, " is not a CPU this process may use (", FormatCpus(cpus), ")"));
}

}  // namespace bfly::dataplane
