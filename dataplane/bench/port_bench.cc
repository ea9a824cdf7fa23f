// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/port_bench.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/bench_load.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/bench/port_kind.h"
#include "dataplane/bench/process_time.h"
#include "dataplane/bench/testpmd.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"

namespace bfly::dataplane {
namespace {

constexpr double kBenchAnswerSeconds = 10;
constexpr double kAloneSeconds = 0.1;
constexpr int kMemoryMb = 256;
constexpr size_t kMostRows = 20;
constexpr double kLeastShare = 0.95;  // the least share of the time
constexpr double kLeastAlone = 1.2;   // over the frames a second of a device

// One run of one device under test.
struct DeviceRun {
  double pps = 0;
  double per_cpu_second = 0;
  double fed = 0;
  double drained = 0;
  double on_cpu = 0;
  double in_kernel = 0;
  std::optional<double> lost;
  uint64_t strange = 0;
  uint64_t received = 0;      // frames that the load received since it was connected
  Conservation conservation;  // the account of bfly
};

absl::Status CheckOptions(const PortBenchOptions& o) {
  absl::Status status = FirstError(
      {CheckOption("numbers of stages", o.stages.size(), size_t{1}, kMostRows),
       CheckFrameRuns(o.frame_bytes, o.seconds, o.runs), CheckPatience(o.patience_seconds)});
  for (const int stages : o.stages) status.Update(CheckOption("stages", stages, 1, 20));
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

void WaitForStop(int stop) {
  pollfd asked{.fd = stop, .events = POLLIN, .revents = 0};
  poll(&asked, 1, -1);
}

int RunFabric(const FabricConfig& config, int report, int stop) {
  const auto eal = StartEal({.memory_mb = kMemoryMb, .use_hugepages = false});
  if (!eal.ok()) return ChildFailed(eal.status());
  auto fabric = Fabric::Load(config);
  if (!fabric.ok()) return ChildFailed(fabric.status());
  if (write(report, "r", 1) != 1) return 1;
  WaitForStop(stop);
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

  absl::StatusOr<DeviceRun> RunBfly(int stages) {
    const BenchDirectory directory;
    if (absl::Status status = Prepare(directory); !status.ok()) return status;
    // The load shares memory with the device, so the device ends first.
    std::unique_ptr<BenchProcess> load;
    FabricConfig config;
    config.name = "bench";
    config.network = {.kind = NetworkKind::kButterfly, .rows = 1u << stages};
    config.placement = {{.first_stage = 0, .last_stage = stages - 1, .lcore = device_cpu_}};
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
    auto run = Measure(directory, stages, **device, load);
    if (!run.ok()) return run;
    (*device)->AskToStop();
    if (!(*device)->Read(&run->conservation, sizeof(run->conservation), kBenchAnswerSeconds)) {
      return (*device)->Silent("bfly", "unloaded", kBenchAnswerSeconds);
    }
    (*device)->Stop(kBenchAnswerSeconds);
    if (run->strange > 0) {
      return absl::InternalError(
          absl::StrCat(run->strange, " of the frames that bfly sent are not for a row"));
    }
    if (run->received > run->conservation.delivered) {
      return absl::InternalError(absl::StrCat("the load counted ", run->received,
                                              " frames, of which bfly sent only ",
                                              run->conservation.delivered));
    }
    return run;
  }

  absl::StatusOr<DeviceRun> RunTestpmd(const char* forward) {
    const BenchDirectory directory;
    if (absl::Status status = Prepare(directory); !status.ok()) return status;
    // The load shares memory with the device, so the device ends first.
    std::unique_ptr<BenchProcess> load;
    auto device = Testpmd::Start(
        {.program = options_.testpmd,
         .mode = forward,
         .devices = {kind_.device(0, directory.path()), kind_.device(1, directory.path())},
         .cpus = {device_cpu_},
         .memory_mb = kMemoryMb,
         .patience_seconds = options_.patience_seconds},
        directory.path() + "/testpmd.log");
    if (!device.ok()) return device.status();
    return Measure(directory, options_.stages.front(), (*device)->process(), load);
  }

  absl::StatusOr<BenchLoadAlone> RunAlone() {
    const BenchDirectory directory;
    if (absl::Status status = Prepare(directory); !status.ok()) return status;
    auto process = BenchProcess::Fork(directory.path() + "/alone.log", [&](int report, int) {
      StayOnCpu(load_cpu_);
      const auto ends = kind_.load(FramesOf(options_.stages.front()), true);
      if (!ends.ok()) return ChildFailed(ends.status());
      const BenchLoadAlone alone =
          MeasureLoadAlone(ends->in.get(), ends->out.get(), device_cpu_, kAloneSeconds);
      return write(report, &alone, sizeof(alone)) == sizeof(alone) ? 0 : 1;
    });
    if (!process.ok()) return process.status();
    BenchLoadAlone alone;
    if ((*process)->Read(&alone, sizeof(alone), options_.patience_seconds)) return alone;
    return (*process)->Silent("the load", "measured itself", options_.patience_seconds);
  }

 private:
  absl::Status Prepare(const BenchDirectory& directory) const {
    const absl::Status status = directory.made();
    return status.ok() && kind_.prepare != nullptr ? kind_.prepare(directory.path()) : status;
  }

  Frames FramesOf(int stages) const {
    return FramesBetween(RowsOfPort(0, 1u << stages), RowsOfPort(1, 1u << stages),
                         options_.frame_bytes);
  }

  int RunLoad(const std::string& directory, int stages, pid_t device, int report, int stop) const {
    StayOnCpu(load_cpu_);
    const auto ends = kind_.load(FramesOf(stages), false);
    if (!ends.ok()) return ChildFailed(ends.status());
    const auto result = RunBenchLoad({.in = ends->in.get(),
                                      .out = ends->out.get(),
                                      .in_socket = kind_.socket(0, directory),
                                      .out_socket = kind_.socket(1, directory),
                                      .device = device,
                                      .seconds = options_.seconds,
                                      .patience_seconds = options_.patience_seconds});
    if (!result.ok()) return ChildFailed(result.status());
    if (write(report, &*result, sizeof(*result)) != sizeof(*result)) return 1;
    WaitForStop(stop);
    return 0;
  }

  // Starts `load`, which keeps its ports until it is destroyed.
  absl::StatusOr<DeviceRun> Measure(const BenchDirectory& directory, int stages,
                                    const BenchProcess& device,
                                    std::unique_ptr<BenchProcess>& load) {
    auto started = BenchProcess::Fork(directory.path() + "/load.log", [&](int report, int stop) {
      return RunLoad(directory.path(), stages, device.pid(), report, stop);
    });
    if (!started.ok()) return started.status();
    load = *std::move(started);
    BenchLoadResult result;
    // The load connects twice and waits for a frame. Then it measures.
    const double patience =
        3 * options_.patience_seconds + 2 * options_.seconds + kBenchAnswerSeconds;
    if (!load->Read(&result, sizeof(result), patience)) {
      return absl::UnavailableError(
          absl::StrCat("the load measured nothing; it printed last: ", load->LogTail(),
                       "; the device under test ", device.HasEnded() ? "has ended" : "is running",
                       ", it printed last: ", device.LogTail()));
    }
    const auto received = static_cast<double>(result.received);
    const double cpu = result.device.all;
    DeviceRun run{.pps = received / result.seconds,
                  .per_cpu_second = cpu > 0 ? received / cpu : 0,
                  .fed = result.fed,
                  .drained = result.drained,
                  .on_cpu = cpu / result.seconds,
                  .in_kernel = cpu > 0 ? std::min(1.0, result.device.kernel / cpu) : 0,
                  .lost = {},
                  .strange = result.strange,
                  .received = result.received_since_connected,
                  .conservation = {}};
    if (kind_.sees_taken) {
      const auto sent = static_cast<double>(std::max<uint64_t>(result.sent, 1));
      run.lost = std::max(0.0, 1 - received / sent);
    }
    return run;
  }

  const PortBenchOptions options_;
  const PortKind& kind_;
  const int device_cpu_;
  const int load_cpu_;
};

// The runs of one device, each beside the run of testpmd io of the same round.
struct RowRuns {
  void Add(const DeviceRun& run, const DeviceRun& io) {
    pps.push_back(run.pps);
    per_cpu.push_back(run.per_cpu_second);
    fed.push_back(run.fed);
    drained.push_back(run.drained);
    on_cpu.push_back(run.on_cpu);
    in_kernel.push_back(run.in_kernel);
    over_io.push_back(run.pps / io.pps);
    cpu_over_io.push_back(io.per_cpu_second > 0 ? run.per_cpu_second / io.per_cpu_second : 0);
    lost = std::max(lost, run.lost);  // nothing is less than any number
  }

  PortBenchRow Row(std::string forward, int stages) const {
    return {.forward = std::move(forward),
            .stages = stages,
            .pps = StatisticsOf(pps),
            .per_cpu_second = StatisticsOf(per_cpu),
            .fed = StatisticsOf(fed),
            .drained = StatisticsOf(drained),
            .on_cpu = StatisticsOf(on_cpu),
            .in_kernel = StatisticsOf(in_kernel),
            .lost = lost,
            .over_io = StatisticsOf(over_io),
            .cpu_over_io = StatisticsOf(cpu_over_io)};
  }

  std::vector<double> pps, per_cpu, fed, drained, on_cpu, in_kernel, over_io, cpu_over_io;
  std::optional<double> lost;
};

}  // namespace

absl::Status CheckBottleneck(const PortBenchRow& row, double alone_pps) {
  const auto refused = [](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat("the load was the bottleneck: ", why,
                     " for a ratio; use a machine with two idle CPUs, or --closed"));
  };
  if (row.fed.median < kLeastShare) {
    return refused(absl::StrFormat(
        "frames waited for the device for %g %% of the time, and %.0f %% are needed",
        PercentRoundedDown(row.fed.median), 100 * kLeastShare));
  }
  if (row.drained.median < kLeastShare) {
    return refused(
        absl::StrFormat("the device had room to send for %g %% of the time, and %.0f %% are needed",
                        PercentRoundedDown(row.drained.median), 100 * kLeastShare));
  }
  if (row.on_cpu.median < kLeastOnCpu) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "other programs took the CPU of the device under test: it had its CPU for %g %% of the "
        "time, and %.0f %% are needed for a ratio; use a machine with two idle CPUs, or chrt",
        PercentRoundedDown(row.on_cpu.median), 100 * kLeastOnCpu));
  }
  if (alone_pps < kLeastAlone * row.pps.median) {
    return refused(
        absl::StrFormat("alone it moved %.1f M frames/s, and %.1f times the %.1f M frames/s with "
                        "the device are needed",
                        alone_pps / 1e6, kLeastAlone, row.pps.median / 1e6));
  }
  return absl::OkStatus();
}

absl::StatusOr<PortBenchResult> RunPortBench(const PortBenchOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  PortBench bench(options);
  PortBenchResult result;
  result.options = options;
  result.load_cpu = UsableCpus().front();
  result.device_cpu = UsableCpus().back();
  constexpr size_t kModes = std::size(kForwardModes);
  std::vector<RowRuns> rows(kModes + options.stages.size());
  std::vector<double> alone_pps, hand_over_ns;
  for (int i = 0; i < options.runs; ++i) {
    const auto alone = bench.RunAlone();
    if (!alone.ok()) return alone.status();
    alone_pps.push_back(alone->pps);
    hand_over_ns.push_back(alone->hand_over_ns);
    DeviceRun io;
    for (size_t mode = 0; mode < kModes; ++mode) {
      const auto run = bench.RunTestpmd(kForwardModes[mode]);
      if (!run.ok()) return run.status();
      if (mode == 0) io = *run;
      rows[mode].Add(*run, io);
    }
    for (size_t s = 0; s < options.stages.size(); ++s) {
      const auto run = bench.RunBfly(options.stages[s]);
      if (!run.ok()) return run.status();
      rows[kModes + s].Add(*run, io);
      result.conservation += run->conservation;
    }
  }
  result.alone_pps = StatisticsOf(alone_pps);
  result.hand_over_ns = StatisticsOf(hand_over_ns);
  for (size_t mode = 0; mode < kModes; ++mode) {
    result.rows.push_back(rows[mode].Row(kForwardModes[mode], 0));
  }
  for (size_t s = 0; s < options.stages.size(); ++s) {
    result.rows.push_back(rows[kModes + s].Row("", options.stages[s]));
  }
  return result;
}

}  // namespace bfly::dataplane
