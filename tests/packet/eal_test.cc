// SPDX-License-Identifier: Apache-2.0
// Starting DPDK as a data plane does. A process can start EAL once only, so every case runs in a
// child process.
#include "dataplane/runtime/eal.h"

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "dataplane/runtime/control_threads.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal_lcores.h"
#include "tests/packet/fabric_fixture.h"

namespace bfly::dataplane {
namespace {

constexpr EalOptions kSmall = {.memory_mb = 64, .use_hugepages = false};

pid_t InChild(const std::function<bool()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  alarm(60);
  const bool good = body();
  std::fflush(nullptr);
  _exit(good ? 0 : 1);
}

void ExpectGood(pid_t child) {
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
}

bool Says(const absl::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok();
}

bool DeliversAPacket() {
  absl::StatusOr<std::unique_ptr<Fabric>> fabric =
      Fabric::Load(OneWorker(NetworkKind::kButterfly, 16));
  if (!Says(fabric.status())) return false;
  SourceConfig source{.rows = {3}, .destination = SourceConfig::Destination::kRow, .row = 9};
  source.packets = 1;
  if (!Says((*fabric)->SetSources({source}))) return false;
  const Snapshot s = WaitForDeliveries(**fabric, 1);
  return s.conservation.delivered == 1 && s.conservation.in_flight == 0;
}

// Of the default size, as the kernel's own page says it.
uint64_t FreeHugepageMb() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  uint64_t value = 0, pages = 0, kb = 0;
  for (std::string rest; meminfo >> key >> value; std::getline(meminfo, rest)) {
    if (key == "HugePages_Free:") pages = value;
    if (key == "Hugepagesize:") kb = value;
  }
  return pages * kb / 1024;
}

TEST(Eal, WithoutHugepagesItStartsAllTheSameAndSaysSo) {
  ExpectGood(InChild([] {
    const bool enough = FreeHugepageMb() >= 64;
    const auto eal = StartEal({.memory_mb = 64});
    if (!Says(eal.status()) || eal->hugepages != enough) return false;
    const std::string expected =
        enough ? "hugepages"
               : "no hugepages (slower): " + std::to_string(FreeHugepageMb()) +
                     " MiB are free, 64 MiB are needed; raise vm.nr_hugepages";
    return eal->memory == expected && DeliversAPacket();
  }));
}

TEST(Eal, TheControlTakesNoWorkersCpuAndEveryUsableCpuIsAnLcore) {
  ExpectGood(InChild([] {
    const auto eal = StartEal(kSmall);
    if (!Says(eal.status())) return false;
    bool good = rte_get_main_lcore() == kControlLcore;
    for (const EalLcores::Thread& thread : ProcessLcores().threads()) {
      const auto number = static_cast<unsigned>(thread.number);
      const rte_cpuset_t cpus = rte_lcore_cpuset(number);
      good = good && thread.number != kControlLcore && rte_lcore_is_enabled(number) &&
             CPU_COUNT(&cpus) == 1 && CPU_ISSET(static_cast<size_t>(thread.cpu), &cpus);
    }
    return good && rte_lcore_count() == UsableCpus().size() + 1;
  }));
}

std::vector<int> CpusOf(pid_t thread) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(thread, sizeof(set), &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

TEST(ControlThreads, StayOffTheCpusOfWorkersWhileOthersAreLeft) {
  if (UsableCpus().size() < 2) GTEST_SKIP() << "needs two CPUs";
  ExpectGood(InChild([] {
    if (!LcoreThreads().empty() || !Says(StartEal(kSmall).status())) return false;
    const std::vector<pid_t> lcores = LcoreThreads();
    std::promise<pid_t> id;
    std::promise<void> end;
    std::thread waits([&] {
      id.set_value(gettid());
      end.get_future().wait();
    });
    const pid_t other = id.get_future().get();
    std::vector<int> but_first(UsableCpus().begin() + 1, UsableCpus().end());
    KeepControlThreadsOff({UsableCpus().front()});
    bool good = CpusOf(other) == but_first && CpusOf(0) == but_first;
    std::thread([&] { good = good && CpusOf(0) == but_first; }).join();
    // Lcores stay where they are, each on a CPU of its own.
    std::set<int> pinned;
    for (const pid_t lcore : lcores) {
      good = good && CpusOf(lcore).size() == 1;
      pinned.insert(CpusOf(lcore).front());
    }
    good = good && pinned == std::set<int>(UsableCpus().begin(), UsableCpus().end());
    KeepControlThreadsOff({UsableCpus().back()});
    good = good && CpusOf(other).back() != UsableCpus().back();
    KeepControlThreadsOff(UsableCpus());
    good = good && CpusOf(other) == UsableCpus();
    end.set_value();
    waits.join();
    return good;
  }));
}

// The CPU of the machine that the worker of the lcore shares.
int CpuOf(int lcore) {
  for (const Lcore& l : Lcores()) {
    if (l.number == lcore) return l.cpu;
  }
  return -1;
}

// How many threads of this process are pinned to each CPU alone, by the kernel's account and by
// DPDK's.
std::pair<std::map<int, int>, std::map<int, int>> PinnedThreads() {
  std::map<int, int> kernel, dpdk;
  const auto count = [](const cpu_set_t& set, std::map<int, int>& threads) {
    if (CPU_COUNT(&set) != 1) return;
    for (const int cpu : UsableCpus()) threads[cpu] += CPU_ISSET(static_cast<size_t>(cpu), &set);
  };
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    cpu_set_t set;
    const pid_t id = std::stoi(task.path().filename());
    if (sched_getaffinity(id, sizeof(set), &set) == 0) count(set, kernel);
  }
  for (const EalLcores::Thread& thread : ProcessLcores().threads()) {
    count(rte_lcore_cpuset(static_cast<unsigned>(thread.number)), dpdk);
  }
  return {kernel, dpdk};
}

// DPDK numbers lcores up to 127. Lcores 2-199 share the CPUs of this machine in turn, as if it had
// 200.
TEST(Eal, LcoresAbove127RunWorkersOnTheirOwnCpus) {
  ExpectGood(InChild([] {
    AddLcores(200);
    if (!Says(StartEal(kSmall).status()) || rte_lcore_count() != 128) return false;
    FabricConfig config = OneWorker(NetworkKind::kButterfly, 16);
    config.placement = {{.first_stage = 0, .last_stage = 1, .lcore = 199},
                        {.first_stage = 2, .last_stage = 3, .lcore = 150}};
    SourceConfig source{.rows = {3}, .destination = SourceConfig::Destination::kRow, .row = 9};
    source.packets = 1;
    const auto delivers = [&](Fabric& fabric) {
      if (!Says(fabric.SetSources({source}))) return false;
      const Snapshot s = WaitForDeliveries(fabric, 1);
      return s.conservation.delivered == 1 && s.workers[0].lcore == 199 &&
             s.workers[1].lcore == 150;
    };
    {
      absl::StatusOr<std::unique_ptr<Fabric>> fabric = Fabric::Load(config);
      if (!Says(fabric.status()) || !delivers(**fabric)) return false;
      const auto [kernel, dpdk] = PinnedThreads();
      const rte_cpuset_t of_199 = rte_lcore_cpuset(126), of_150 = rte_lcore_cpuset(125);
      if ((UsableCpus().size() > 1 && kernel != dpdk) ||
          !CPU_ISSET(static_cast<size_t>(CpuOf(199)), &of_199) ||
          !CPU_ISSET(static_cast<size_t>(CpuOf(150)), &of_150)) {
        std::fprintf(stderr, "the workers are not where they should be\n");
        return false;
      }
      const absl::Status twice = Fabric::Load(config).status();
      if (twice.message() != "lcore 199 cannot run a worker: another fabric runs on it") {
        return Says(twice) && false;
      }
    }
    // Threads that moved for lcores above 127 are free for others again.
    config.placement = {{.first_stage = 0, .last_stage = 3, .lcore = 126}};
    absl::StatusOr<std::unique_ptr<Fabric>> fabric = Fabric::Load(config);
    if (!Says(fabric.status())) return false;
    config.placement = {{.first_stage = 0, .last_stage = 1, .lcore = 199},
                        {.first_stage = 2, .last_stage = 3, .lcore = 150}};
    absl::StatusOr<std::unique_ptr<Fabric>> again = Fabric::Load(config);
    return Says(again.status()) && delivers(**again);
  }));
}

TEST(Eal, MoreLcoresThanDpdkHasRoomForAreRefused) {
  ExpectGood(InChild([] {
    AddLcores(200);
    FabricConfig config = OneWorker(NetworkKind::kButterfly, 256);
    config.placement.clear();
    for (int i = 0; i < 128; ++i) {
      const auto first = static_cast<Row>(2 * i);
      config.placement.push_back(
          {.first_stage = 0, .last_stage = 7, .lcore = 60 + i, .rows = {first, first + 1}});
    }
    const std::vector<absl::Status> errors = Fabric::Verify(config);
    config.placement.back().lcore = 60;
    return errors.size() == 1 &&
           errors[0].message() ==
               "placement: 128 lcores are named, here and by ports; a data plane runs 127 workers "
               "at most, so use fewer lcores or several data planes" &&
           Fabric::Verify(config).empty();
  }));
}

TEST(Eal, StartingItAgainAnswersTheSame) {
  ExpectGood(InChild([] {
    const auto first = StartEal(kSmall);
    const auto second = StartEal(kSmall);
    return Says(first.status()) && Says(second.status()) && first->memory == second->memory;
  }));
}

TEST(Eal, LeavesNoFileBehind) {
  const pid_t child = InChild([] { return Says(StartEal(kSmall).status()); });
  ExpectGood(child);
  const std::string name = "bfly" + std::to_string(child);
  EXPECT_FALSE(std::filesystem::exists("/var/run/dpdk/" + name));
  EXPECT_FALSE(std::filesystem::exists("/tmp/dpdk/" + name));
}

// The first message of DPDK's telemetry socket tells version, process id and the longest answer.
std::string TelemetryGreeting(const std::string& path) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  char greeting[1024] = "";
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    const ssize_t size = read(socket, greeting, sizeof(greeting) - 1);
    if (size < 0) greeting[0] = 0;
  }
  close(socket);
  return greeting;
}

TEST(Eal, TelemetryAnswersAndLeavesNothingBehindNeitherDoesAProcessThatWasKilled) {
  if (geteuid() != 0)
    GTEST_SKIP() << "this test needs root: without it DPDK keeps its runtime directory elsewhere";
  EalOptions options = kSmall;
  options.telemetry = true;
  const pid_t killed =
      InChild([&options] { return Says(StartEal(options).status()) && raise(SIGKILL) != 0; });
  int status = 0;
  ASSERT_EQ(waitpid(killed, &status, 0), killed);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::string leftover = "/var/run/dpdk/bfly" + std::to_string(killed);
  ASSERT_TRUE(std::filesystem::exists(leftover));

  const pid_t child = InChild([&options] {
    if (!Says(StartEal(options).status())) return false;
    const std::string directory = "/var/run/dpdk/bfly" + std::to_string(getpid());
    const std::string greeting = TelemetryGreeting(directory + "/dpdk_telemetry.v2");
    std::printf("%s\n", greeting.c_str());
    const bool told = greeting.find("\"pid\":" + std::to_string(getpid())) != std::string::npos;
    StopEal();
    return told && !std::filesystem::exists(directory);
  });
  ExpectGood(child);
  EXPECT_FALSE(std::filesystem::exists(leftover));
}

TEST(Eal, TwoDataPlanesRunSideBySide) {
  int both_up[2], release[2];
  ASSERT_EQ(pipe(both_up), 0);
  ASSERT_EQ(pipe(release), 0);
  const auto data_plane = [&] {
    close(release[1]);
    if (!Says(StartEal(kSmall).status()) || !DeliversAPacket()) return false;
    const bool told = write(both_up[1], "x", 1) == 1;
    char c;
    // It ends when the parent has seen both children.
    return told && read(release[0], &c, 1) == 0 && DeliversAPacket();
  };
  const pid_t first = InChild(data_plane);
  const pid_t second = InChild(data_plane);
  close(both_up[1]);
  char c;
  EXPECT_EQ(read(both_up[0], &c, 1), 1);
  EXPECT_EQ(read(both_up[0], &c, 1), 1);
  close(release[1]);
  ExpectGood(first);
  ExpectGood(second);
  close(both_up[0]);
  close(release[0]);
}

TEST(Eal, AFabricWithoutPortsNeedsNoRoot) {
  ExpectGood(InChild([] {
    if (geteuid() == 0 && setuid(65534) != 0) return false;
    return geteuid() != 0 && Says(StartEal(kSmall).status()) && DeliversAPacket();
  }));
}

TEST(Eal, AKernelDeviceWithoutRootIsRefusedWithTheCapabilityItNeeds) {
  ExpectGood(InChild([] {
    if (geteuid() == 0 && setuid(65534) != 0) return false;
    FabricConfig config = OneWorker(NetworkKind::kButterfly, 2);
    HostPortConfig port;
    port.name = "h0";
    port.rows = {0};
    const std::map<std::string, std::string> needs = {
        {"net_tap0", "CAP_NET_ADMIN,"},
        {"net_af_packet0,iface=lo", "CAP_NET_ADMIN and CAP_NET_RAW,"}};
    for (const auto& [device, needed] : needs) {
      port.device = device;
      config.ports = {port};
      const std::vector<absl::Status> errors = Fabric::Verify(config);
      if (errors.size() != 1 || errors[0].code() != absl::StatusCode::kPermissionDenied ||
          !absl::StartsWith(errors[0].message(),
                            absl::StrCat("ports[0].device: ", device, " needs ", needed))) {
        return false;
      }
    }
    return true;
  }));
}

TEST(Eal, AnAbsurdAmountOfMemoryIsRefused) {
  ExpectGood(InChild([] {
    const auto eal = StartEal({.memory_mb = 1});
    return eal.status().code() == absl::StatusCode::kInvalidArgument &&
           eal.status().message() == "memory_mb: 1 is outside 64..262144";
  }));
}

}  // namespace
}  // namespace bfly::dataplane
