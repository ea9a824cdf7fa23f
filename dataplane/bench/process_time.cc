// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/process_time.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::dataplane {

ProcessTime TimeOf(pid_t pid) {
  ProcessTime process;
  clockid_t clock;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return process;
  process.all = static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  // Field 15 is stime (man 5 proc). The second field is a name in brackets, which may have blanks.
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string line;
  std::getline(file, line);
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  constexpr int kFirst = 3, kKernelTime = 15;
  std::string skipped;
  for (int field = kFirst; field < kKernelTime; ++field) fields >> skipped;
  double ticks = 0;
  if (fields >> ticks) process.kernel = ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  return process;
}

CpuShare::CpuShare(pid_t pid, size_t cpus)
    : pid_(pid),
      cpus_(static_cast<double>(cpus)),
      before_(TimeOf(pid).all),
      start_(std::chrono::steady_clock::now()) {}

double CpuShare::so_far() const {
  return std::min(1.0, (TimeOf(pid_).all - before_) / (SecondsSince(start_) * cpus_));
}

}  // namespace bfly::dataplane
