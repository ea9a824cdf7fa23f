// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/cpus.h"

#include <sched.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "dataplane/runtime/control_threads.h"
#include "dataplane/runtime/machine_cpus.h"

namespace bfly::dataplane {
namespace {

static_assert(kCpuLimit == CPU_SETSIZE);

// More CPUs than any kernel has.
constexpr size_t kMostCpus = size_t{1} << 20;

// Written by the thread that starts the process's other threads.
bool affinity_is_chosen = false;

// The CPUs that a thread may use; 0 stands for the calling thread. Empty if there is no such
// thread.
std::vector<int> AffinityOf(pid_t thread) {
  // The kernel refuses a set that is smaller than its own.
  for (size_t size = kCpuLimit; size <= kMostCpus; size *= 2) {
    std::vector<cpu_set_t> sets(size / CPU_SETSIZE);
    const size_t bytes = sets.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(thread, bytes, sets.data()) != 0) continue;
    std::vector<int> cpus;
    for (int cpu = 0; cpu < kCpuLimit; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, sets.data())) cpus.push_back(cpu);
    }
    return cpus;
  }
  return {};
}

// CPU 0 if the kernel does not say.
std::vector<int> ReadAffinity() {
  std::vector<int> cpus = AffinityOf(0);
  return cpus.empty() ? std::vector<int>{0} : cpus;
}

// Those of `cpus` that the kernel lets this process use: the CPUs inside of its cpuset.
std::vector<int> Granted(const std::vector<int>& cpus, const std::vector<int>& affinity) {
  const auto set = [](const std::vector<int>& wanted) {
    cpu_set_t cpu_set;
    CPU_ZERO(&cpu_set);
    for (const int cpu : wanted) CPU_SET(static_cast<size_t>(cpu), &cpu_set);
    return sched_setaffinity(0, sizeof(cpu_set), &cpu_set) == 0;
  };
  if (!set(cpus)) return affinity;
  std::vector<int> granted = ReadAffinity();
  set(affinity);
  return granted;
}

std::vector<int> FindUsableCpus() {
  const std::vector<int> affinity = ReadAffinity();
  if (affinity_is_chosen) return affinity;
  const MachineCpus machine = ReadMachineCpus();
  return OnlyIsolatedAreMissing(affinity, machine) ? Granted(machine.online, affinity) : affinity;
}

std::vector<Lcore>& MutableLcores() {
  static std::vector<Lcore> lcores = [] {
    std::vector<Lcore> one_each;
    for (int cpu : UsableCpus()) one_each.push_back({cpu, cpu});
    return one_each;
  }();
  return lcores;
}

}  // namespace

const std::vector<int>& UsableCpus() {
  static const std::vector<int> cpus = FindUsableCpus();
  return cpus;
}

void KeepToAffinity() { affinity_is_chosen = true; }

std::vector<int> CpusOfThreads(pid_t process) {
  std::set<int> cpus;
  for (const pid_t thread : ThreadsOf(process)) {
    const std::vector<int> more = AffinityOf(thread);
    cpus.insert(more.begin(), more.end());
  }
  return {cpus.begin(), cpus.end()};
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

std::optional<int> CpuOfLcore(int number) {
  for (const Lcore& lcore : Lcores()) {
    if (lcore.number == number) return lcore.cpu;
  }
  return std::nullopt;
}

void AddLcores(int count) {
  const std::vector<int>& cpus = UsableCpus();
  std::vector<Lcore>& lcores = MutableLcores();
  for (int number = 0; number < kCpuLimit && static_cast<int>(lcores.size()) < count; ++number) {
    if (!CpuOfLcore(number)) lcores.push_back({number, cpus[lcores.size() % cpus.size()]});
  }
}

absl::Status CheckCpu(const std::string& field, int lcore) {
  const std::vector<int>& cpus = UsableCpus();
  if (CpuOfLcore(lcore)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, ": ", lcore, " is not a CPU this process may use (", FormatCpus(cpus), ")"));
}

}  // namespace bfly::dataplane
