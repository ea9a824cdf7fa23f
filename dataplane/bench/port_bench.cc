// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/port_bench.h"

#include <poll.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/bench_load.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/bench/port_kind.h"
#include "dataplane/bench/testpmd.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"

namespace bfly::dataplane {
namespace {

constexpr double kTesterStopSeconds = 10;
constexpr int kMemoryMb = 256;

// One run of one device under test.
struct DeviceRun {
  double frames_per_second = 0;
  double frames_per_cpu_second = 0;
  double saturation = 0;
  double offered = 0;         // over what the device took
  double lost = 0;            // of what the device took
  Conservation conservation;  // of bfly
};

absl::Status CheckOptions(const PortBenchOptions& o) {
  const absl::Status status = FirstError({CheckOption("stages", o.stages, 1, 20),
                                          CheckFrameRuns(o.frame_bytes, o.seconds, o.runs),
                                          CheckPatience(o.patience_seconds)});
  if (!status.ok()) return status;
  if (FindPortKind(o.ports) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("ports: there is no kind of ports \"", o.ports, "\""));
  }
  if (UsableCpus().size() < 2) {
    return absl::UnavailableError(
        absl::StrCat("two CPUs are needed, one for the load and one for the device "
                     "under test; this process may use only ",
                     FormatCpus(UsableCpus())));
  }
  return absl::OkStatus();
}

// The lower half of the rows is at port 0, the upper half at port 1.
std::vector<Row> RowsOfPort(int port, uint32_t rows) {
  return ConsecutiveRows(static_cast<Row>(port) * rows / 2, rows / 2);
}

int RunLoad(const BenchLoadOptions& options, int cpu, int report) {
  const auto eal =
      StartEal({.memory_mb = kMemoryMb, .use_hugepages = false, .one_memory_file = true});
  if (!eal.ok()) return ChildFailed(eal.status());
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(cpu, &cpus);
  sched_setaffinity(0, sizeof(cpus), &cpus);
  const absl::Status status = RunBenchLoad(options, report);
  return status.ok() ? 0 : ChildFailed(status);
}

int RunFabric(const FabricConfig& config, int report, int stop) {
  const auto eal = StartEal({.memory_mb = kMemoryMb, .use_hugepages = false});
  if (!eal.ok()) return ChildFailed(eal.status());
  auto fabric = Fabric::Load(config);
  if (!fabric.ok()) return ChildFailed(fabric.status());
  if (write(report, "r", 1) != 1) return 1;
  pollfd asked{.fd = stop, .events = POLLIN, .revents = 0};
  poll(&asked, 1, -1);
  if (absl::Status s = (*fabric)->Unload(); !s.ok()) return ChildFailed(s);
  const Conservation conservation = (*fabric)->summary().conservation;
  return write(report, &conservation, sizeof(conservation)) == sizeof(conservation) ? 0 : 1;
}

class PortBench {
 public:
  explicit PortBench(const PortBenchOptions& options)
      : options_(options),
        kind_(*FindPortKind(options.ports)),
        device_cpu_(UsableCpus().back()),
        load_cpu_(UsableCpus().front()) {}

  absl::StatusOr<DeviceRun> RunBfly() {
    const BenchDirectory directory;
    if (absl::Status status = directory.made(); !status.ok()) return status;
    FabricConfig config;
    config.name = "bench";
    config.network = {.kind = NetworkKind::kButterfly, .rows = 1u << options_.stages};
    config.placement = {
        {.first_stage = 0, .last_stage = options_.stages - 1, .lcore = device_cpu_}};
    config.idle = IdleMode::kPoll;
    for (int p = 0; p < 2; ++p) {
      HostPortConfig port;
      port.name = absl::StrCat("p", p);
      port.device = kind_.device(p, directory.path());
      port.rows = RowsOfPort(p, config.network.rows);
      config.ports.push_back(std::move(port));
    }
    auto device = BenchProcess::Fork(directory.path() + "/bfly.log", [&](int report, int stop) {
      return RunFabric(config, report, stop);
    });
    if (!device.ok()) return device.status();
    char ready;
    if (!(*device)->Read(&ready, 1, options_.patience_seconds)) {
      return (*device)->Silent("bfly", "started", options_.patience_seconds);
    }
    auto run = Measure(directory, **device);
    if (!run.ok()) return run;
    (*device)->AskToStop();
    if (!(*device)->Read(&run->conservation, sizeof(run->conservation), kTesterStopSeconds)) {
      return (*device)->Silent("bfly", "unloaded", kTesterStopSeconds);
    }
    (*device)->Stop(kTesterStopSeconds);
    return run;
  }

  absl::StatusOr<DeviceRun> RunTestpmd() {
    const BenchDirectory directory;
    if (absl::Status status = directory.made(); !status.ok()) return status;
    auto device = Testpmd::Start(
        {.program = options_.testpmd,
         .devices = {kind_.device(0, directory.path()), kind_.device(1, directory.path())},
         .cpus = {device_cpu_},
         .memory_mb = kMemoryMb,
         .patience_seconds = options_.patience_seconds},
        directory.path() + "/testpmd.log");
    if (!device.ok()) return device.status();
    return Measure(directory, (*device)->process());
  }

 private:
  absl::StatusOr<DeviceRun> Measure(const BenchDirectory& directory, const BenchProcess& device) {
    const BenchLoadOptions load_options{
        .send_device = kind_.generator(0, directory.path()),
        .receive_device = kind_.generator(1, directory.path()),
        .frames = FramesBetween(RowsOfPort(0, 1u << options_.stages),
                                RowsOfPort(1, 1u << options_.stages), options_.frame_bytes),
        .seconds = options_.seconds,
        .link_deadline_seconds = options_.patience_seconds};
    auto load = BenchProcess::Fork(directory.path() + "/load.log", [&](int report, int) {
      return RunLoad(load_options, load_cpu_, report);
    });
    if (!load.ok()) return load.status();
    const auto failed = [&](absl::string_view what) {
      return absl::UnavailableError(absl::StrCat(what, "; load: ", (*load)->LogTail(),
                                                 "; device under test: ", device.LogTail()));
    };
    char mark;
    if (!(*load)->Read(&mark, 1, 2 * options_.patience_seconds))
      return failed("no measurement began");
    const double cpu_before = CpuSeconds(device.pid());
    BenchLoadResult result;
    if (!(*load)->Read(&mark, 1, 2 * options_.seconds + options_.patience_seconds)) {
      return failed("a measurement did not end");
    }
    const double cpu = CpuSeconds(device.pid()) - cpu_before;
    if (!(*load)->Read(&result, sizeof(result), kTesterStopSeconds))
      return failed("no result came");
    (*load)->Stop(kTesterStopSeconds);
    if (result.received == 0) return failed("no frame came through");
    const auto received = static_cast<double>(result.received);
    const auto sent = static_cast<double>(std::max<uint64_t>(result.sent, 1));
    return DeviceRun{.frames_per_second = received / result.seconds,
                     .frames_per_cpu_second = cpu > 0 ? received / cpu : 0,
                     .saturation = static_cast<double>(result.shortened_bursts) /
                                   static_cast<double>(result.offered_bursts),
                     .offered = static_cast<double>(result.offered_bursts) * kBurst / sent,
                     .lost = std::max(0.0, 1 - received / sent),
                     .conservation = {}};
  }

  static double CpuSeconds(pid_t pid) {
    clockid_t clock;
    timespec time{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  const PortBenchOptions options_;
  const PortKind& kind_;
  const int device_cpu_;
  const int load_cpu_;
};

// The figures of all runs of one program.
struct Runs {
  void Add(const DeviceRun& run) {
    pps.push_back(run.frames_per_second);
    per_cpu.push_back(run.frames_per_cpu_second);
    saturation = std::min(saturation, run.saturation);
    offered = pps.size() == 1 ? run.offered : std::min(offered, run.offered);
    lost = std::max(lost, run.lost);
  }

  std::vector<double> pps, per_cpu;
  double saturation = 1, offered = 0, lost = 0;
};

}  // namespace

absl::StatusOr<PortBenchResult> RunPortBench(const PortBenchOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  PortBench bench(options);
  PortBenchResult result;
  result.options = options;
  result.load_cpu = UsableCpus().front();
  result.device_cpu = UsableCpus().back();
  Runs bfly, testpmd;
  for (int i = 0; i < options.runs; ++i) {
    const auto one = bench.RunTestpmd();
    if (!one.ok()) return one.status();
    testpmd.Add(*one);
    const auto other = bench.RunBfly();
    if (!other.ok()) return other.status();
    bfly.Add(*other);
    result.conservation += other->conservation;
  }
  result.bfly_pps = StatisticsOf(bfly.pps);
  result.testpmd_pps = StatisticsOf(testpmd.pps);
  result.ratio = result.bfly_pps.median / result.testpmd_pps.median;
  result.bfly_per_cpu_second = StatisticsOf(bfly.per_cpu);
  result.testpmd_per_cpu_second = StatisticsOf(testpmd.per_cpu);
  result.bfly_saturation = bfly.saturation;
  result.testpmd_saturation = testpmd.saturation;
  result.bfly_offered = bfly.offered;
  result.testpmd_offered = testpmd.offered;
  result.bfly_lost = bfly.lost;
  result.testpmd_lost = testpmd.lost;
  result.cpu_ratio = result.bfly_per_cpu_second.median / result.testpmd_per_cpu_second.median;
  return result;
}

}  // namespace bfly::dataplane
