// SPDX-License-Identifier: Apache-2.0
#include "dataplane/runtime/eal.h"

#include <dirent.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_version.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal_lcores.h"
#include "dataplane/runtime/machine_cpus.h"

namespace bfly::dataplane {
namespace {

static_assert(kControlLcore < RTE_MAX_LCORE);

constexpr int kMinMemoryMb = 64;
constexpr int kMaxMemoryMb = 262144;
constexpr char kFilePrefix[] = "bfly";  // followed by the process id

// Free hugepage memory in MiB, of the page size that the machine has most of.
uint64_t FreeHugepageMb() {
  uint64_t best = 0;
  const std::string root = "/sys/kernel/mm/hugepages";
  DIR* dir = opendir(root.c_str());
  if (dir == nullptr) return 0;
  while (const dirent* entry = readdir(dir)) {
    uint64_t kb = 0;
    if (std::sscanf(entry->d_name, "hugepages-%lukB", &kb) != 1) continue;
    uint64_t pages = 0;
    std::ifstream(absl::StrCat(root, "/", entry->d_name, "/free_hugepages")) >> pages;
    best = std::max(best, pages * kb / 1024);
  }
  closedir(dir);
  return best;
}

// "0@0,1@1,126@130,127@(0,1,130)": a worker's lcore on its CPU, the control's lcore on all of them
// that are not isolated.
std::string LcoreMap() {
  std::string map;
  std::string all;
  for (const EalLcores::Thread& thread : ProcessLcores().threads()) {
    absl::StrAppend(&map, thread.number, "@", thread.cpu, ",");
  }
  for (int cpu : CpusForControl(UsableCpus(), ReadMachineCpus().isolated))
    absl::StrAppend(&all, all.empty() ? "" : ",", cpu);
  return absl::StrCat(map, kControlLcore, "@(", all, ")");
}

std::vector<std::string> Arguments(const EalOptions& options, bool hugepages) {
  std::vector<std::string> args = {
      "bfly",
      options.telemetry ? "--telemetry" : "--no-telemetry",
      absl::StrCat("--file-prefix=", kFilePrefix, getpid()),
      absl::StrCat("--lcores=", LcoreMap()),
      absl::StrCat("--main-lcore=", kControlLcore),
      // The allow list names no real device. So PCI devices are not touched until a fabric names
      // them, and can still be plugged then, which --no-pci would prevent.
      "--allow=ffff:ff:1f.7",
      absl::StrCat("--log-level=*:", options.verbose ? "info" : "error"),
      "-m",
      absl::StrCat(options.memory_mb),
  };
  if (hugepages) {
    args.push_back("--in-memory");
  } else {
    // Ordinary pages exclude --in-memory. --no-shconf leaves no file behind either.
    args.insert(args.end(), {"--no-huge", "--no-shconf"});
  }
  if (options.one_memory_file) args.push_back("--single-file-segments");
  return args;
}

// Collects what DPDK writes while it starts, for the error message.
class LogCapture {
 public:
  LogCapture() : stream_(open_memstream(&text_, &size_)) { rte_openlog_stream(stream_); }
  ~LogCapture() {
    rte_openlog_stream(nullptr);
    std::fclose(stream_);
    std::free(text_);
  }
  std::string text() {
    std::fflush(stream_);
    std::string text(text_, size_);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    for (char& c : text) {
      if (c == '\n') c = ' ';
    }
    return text;
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  FILE* stream_;
};

// Removes the directories of killed data planes, which could not remove them.
void RemoveLeftovers(const std::filesystem::path& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    int pid = 0;
    if (!absl::StartsWith(name, kFilePrefix) ||
        !absl::SimpleAtoi(name.substr(sizeof(kFilePrefix) - 1), &pid) || pid <= 0) {
      continue;
    }
    if (kill(pid, 0) != 0 && errno == ESRCH) std::filesystem::remove_all(entry.path(), ignored);
  }
}

// Every lcore sleeps still.
std::vector<pid_t> AskLcoresForThreads() {
  std::vector<pid_t> threads(rte_lcore_count() - 1);
  size_t i = 0;
  unsigned lcore;
  RTE_LCORE_FOREACH_WORKER(lcore) {
    rte_eal_remote_launch(
        [](void* thread) {
          *static_cast<pid_t*>(thread) = gettid();
          return 0;
        },
        &threads[i++], lcore);
  }
  rte_eal_mp_wait_lcore();
  return threads;
}

std::string PrivilegeHint() {
  if (geteuid() == 0) return "";
  return "; this process is not root: hugepages and PCI devices need CAP_SYS_ADMIN and "
         "CAP_IPC_LOCK";
}

absl::StatusOr<Eal> StartOnce(const EalOptions& options) {
  if (options.memory_mb < kMinMemoryMb || options.memory_mb > kMaxMemoryMb) {
    return absl::InvalidArgumentError(absl::StrCat("memory_mb: ", options.memory_mb, " is outside ",
                                                   kMinMemoryMb, "..", kMaxMemoryMb));
  }
  Eal eal;
  eal.dpdk_version = rte_version();
  const uint64_t free_mb = options.use_hugepages ? FreeHugepageMb() : 0;
  eal.hugepages = options.use_hugepages && free_mb >= static_cast<uint64_t>(options.memory_mb);
  if (eal.hugepages) {
    eal.memory = "hugepages";
  } else if (!options.use_hugepages) {
    eal.memory = "no hugepages (slower): as asked";
  } else {
    eal.memory = absl::StrCat("no hugepages (slower): ", free_mb, " MiB are free, ",
                              options.memory_mb, " MiB are needed; raise vm.nr_hugepages");
  }
  if (UsableCpus().empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "none of the CPUs 0-", kCpuLimit - 1, " may be used by this process; see taskset(1)"));
  }

  std::vector<std::string> args = Arguments(options, eal.hugepages);
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  {
    LogCapture log;
    if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0) {
      return absl::FailedPreconditionError(absl::StrCat(
          "DPDK did not start: ", rte_strerror(rte_errno), ". ", log.text(), PrivilegeHint()));
    }
  }
  // DPDK creates this directory even if nothing is to be shared.
  const std::filesystem::path directory = rte_eal_get_runtime_dir();
  if (!options.telemetry) rmdir(directory.c_str());
  RemoveLeftovers(directory.parent_path());
  if (options.log_to_stderr || options.verbose) rte_openlog_stream(stderr);
  return eal;
}

std::mutex start_mutex;
std::vector<pid_t> lcore_threads;            // guarded by start_mutex
std::optional<absl::StatusOr<Eal>> started;  // guarded by start_mutex

}  // namespace

absl::StatusOr<Eal> StartEal(const EalOptions& options) {
  const std::lock_guard<std::mutex> lock(start_mutex);
  // Drivers write to the sockets of their peers (memif, vhost, virtio-user) as if that could not
  // fail. A peer that ends must not end this process.
  signal(SIGPIPE, SIG_IGN);
  if (!started) {
    started = StartOnce(options);
    if (started->ok()) lcore_threads = AskLcoresForThreads();
  }
  return *started;
}

std::vector<pid_t> LcoreThreads() {
  const std::lock_guard<std::mutex> lock(start_mutex);
  return lcore_threads;
}

void StopEal() {
  const std::lock_guard<std::mutex> lock(start_mutex);
  if (!started || !started->ok()) return;
  const std::string directory = rte_eal_get_runtime_dir();
  rte_eal_cleanup();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  started = absl::FailedPreconditionError("EAL was stopped in this process and cannot start again");
}

}  // namespace bfly::dataplane
