// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/control_threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/machine_cpus.h"

namespace bfly::dataplane {
namespace {

cpu_set_t ControlCpus(const std::vector<int>& worker_cpus) {
  cpu_set_t all, left;
  CPU_ZERO(&all);
  CPU_ZERO(&left);
  for (const int cpu : CpusForControl(UsableCpus(), ReadMachineCpus().isolated)) {
    CPU_SET(cpu, &all);
    if (std::find(worker_cpus.begin(), worker_cpus.end(), cpu) == worker_cpus.end()) {
      CPU_SET(cpu, &left);
    }
  }
  return CPU_COUNT(&left) == 0 ? all : left;
}

void Move(pid_t process, std::set<pid_t> done, const cpu_set_t& cpus) {
  // A thread that has not been moved may start another meanwhile.
  for (bool found = true; found;) {
    found = false;
    for (const pid_t thread : ThreadsOf(process)) {
      if (!done.insert(thread).second) continue;
      found = true;
      sched_setaffinity(thread, sizeof(cpus), &cpus);
    }
  }
}

}  // namespace

std::vector<pid_t> ThreadsOf(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat("/proc/", process, "/task"), error)) {
    pid_t thread = 0;
    if (absl::SimpleAtoi(entry.path().filename().string(), &thread)) threads.push_back(thread);
  }
  return threads;
}

void KeepControlThreadsOff(const std::vector<int>& worker_cpus) {
  const std::vector<pid_t> lcores = LcoreThreads();
  Move(getpid(), {lcores.begin(), lcores.end()}, ControlCpus(worker_cpus));
}

void KeepProcessOff(pid_t process, const std::vector<int>& worker_cpus) {
  Move(process, {}, ControlCpus(worker_cpus));
}

}  // namespace bfly::dataplane
