// SPDX-License-Identifier: Apache-2.0
#include "control/cli/process_cost.h"

#include <sched.h>
#include <time.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dataplane/runtime/control_threads.h"

namespace bfly::control {
namespace {

constexpr double kNanosecond = 1e-9;
// Maps of DPDK's memory: files on hugetlbfs or in memory, by the names that DPDK gives them.
constexpr const char* kFrameBufferMaps[] = {"/memfd:nohuge",   "/memfd:rte_memseg",
                                            "/memfd:seg_",     "/memfd:rtemap_",
                                            "/dev/hugepages/", "/anon_hugepage"};

bool IsPinnedTo(pid_t thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(thread, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1 &&
         CPU_ISSET(cpu, &set);
}

bool HoldsFrameBuffers(const std::string& header) {
  for (const char* name : kFrameBufferMaps) {
    if (absl::StrContains(header, name)) return true;
  }
  return false;
}

}  // namespace

double CpuSecondsOf(pid_t process) {
  clockid_t clock;
  timespec time{};
  // 0 and -1 would be the clock of this process.
  if (process <= 0) return 0;
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * kNanosecond;
}

ThreadTime PinnedTime(pid_t process, int cpu) {
  ThreadTime sum;
  for (const pid_t thread : dataplane::ThreadsOf(process)) {
    if (!IsPinnedTo(thread, cpu)) continue;
    std::ifstream file(absl::StrCat("/proc/", process, "/task/", thread, "/schedstat"));
    double ran = 0, waited = 0;
    if (!(file >> ran >> waited)) continue;
    sum.ran += ran * kNanosecond;
    sum.waited += waited * kNanosecond;
  }
  return sum;
}

ProcessMemory MemoryFromSmaps(const std::string& smaps) {
  ProcessMemory memory;
  std::istringstream lines(smaps);
  bool frame_buffers = false;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t kilobytes = 0;
    words >> key;
    // A map begins with a line "7f00-8f00 rw-p ...", its figures are "Key:  number kB".
    if (!absl::EndsWith(key, ":")) {
      frame_buffers = HoldsFrameBuffers(line);
    } else if ((key == "Pss:" || key == "Private_Hugetlb:" || key == "Shared_Hugetlb:") &&
               words >> kilobytes) {
      memory.all += kilobytes << 10;
      if (frame_buffers) memory.frame_buffers += kilobytes << 10;
    }
  }
  return memory;
}

ProcessMemory MemoryOf(pid_t process) {
  std::ifstream file(absl::StrCat("/proc/", process, "/smaps"));
  return MemoryFromSmaps(
      std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()));
}

}  // namespace bfly::control
