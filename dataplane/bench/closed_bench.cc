// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/closed_bench.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/bench/circulation.h"
#include "dataplane/bench/fabric_run.h"
#include "dataplane/bench/open_vswitch.h"
#include "dataplane/bench/process_time.h"
#include "dataplane/bench/testpmd.h"
#include "dataplane/frames/mac_address.h"
#include "dataplane/links/link_plan.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::dataplane {
namespace {

constexpr double kSettleSeconds = 0.2;
constexpr int kFabricMemoryMb = 384;

NetworkSpec SpecOf(const ClosedBenchOptions& options) {
  NetworkSpec spec = options.network;
  spec.rows = 1u << options.stages;
  return spec;
}

// A fabric of the bench: which one, and on which cores.
struct MeasuredFabric {
  ClosedPlacement placement = ClosedPlacement::kOne;
  NetworkSpec network;
  LinkShape links = {};
  bool circuits = false;
};

struct ForwarderRun {
  double pps = 0;
  double on_cpu = 0;
};

class ClosedBench {
 public:
  explicit ClosedBench(const ClosedBenchOptions& options)
      : options_(options), pairs_(options.placement == ClosedPlacement::kRows ? 2 : 1) {
    cpus_ = {UsableCpus().back()};
    if (options.placement != ClosedPlacement::kOne) cpus_.insert(cpus_.begin(), UsableCpus()[0]);
  }

  const std::vector<int>& cpus() const { return cpus_; }
  int pairs() const { return pairs_; }

  absl::Status WriteCaptures() {
    if (absl::Status status = directory_.made(); !status.ok()) return status;
    std::vector<Row> sinks;
    for (int pair = 0; pair < pairs_; ++pair) {
      const std::vector<Row> rows = RowsOf(pair, 1);
      sinks.insert(sinks.end(), rows.begin(), rows.end());
    }
    absl::Status status;
    for (int pair = 0; pair < pairs_; ++pair) {
      const std::vector<Row> rows = RowsOf(pair, 0);
      std::vector<RowPair> pairs;
      if (options_.circuits) {
        for (const Row row : rows) pairs.emplace_back(row, CircuitOf(row));
      }
      const Frames frames = options_.circuits ? FramesOf(pairs, options_.frame_bytes)
                                              : FramesBetween(rows, sinks, options_.frame_bytes);
      for (const auto& frame : frames) targets_.insert(RowOfMac(LoadMac(frame.data())));
      status.Update(WritePcap(Capture(pair), frames));
    }
    return status;
  }

  absl::StatusOr<FabricRun> RunBfly(const MeasuredFabric& fabric) const {
    auto run = RunFabric({.config = ConfigOf(fabric),
                          .circuits = fabric.circuits ? Circuits() : std::vector<RowPair>{},
                          .circulating = Circulating(),
                          .memory_mb = kFabricMemoryMb,
                          .settle_seconds = kSettleSeconds,
                          .seconds = options_.seconds,
                          .patience_seconds = options_.patience_seconds},
                         directory_.path() + "/bfly.log");
    if (run.ok() && fabric.circuits && run->without_circuit > 0) {
      return absl::InternalError(
          absl::StrCat(run->without_circuit, " frames found no circuit, though every row has one"));
    }
    if (run.ok() && rings() && run->conservation.dropped > 0) {
      return absl::InternalError(
          absl::StrCat(run->conservation.dropped, " frames left the rings, where all go round"));
    }
    return run;
  }

  // Measures Open vSwitch with and without its cache of exact headers.
  absl::StatusOr<std::pair<ForwarderRun, ForwarderRun>> RunOpenVswitch(
      const std::string& program) const {
    OpenVswitchOptions options{.program = program,
                               .targets = {targets_.begin(), targets_.end()},
                               .cpus = cpus_,
                               .patience_seconds = options_.patience_seconds};
    for (int pair = 0; pair < pairs_; ++pair) options.inputs.push_back(CaptureDevice(pair));
    for (int i = 0; i < 2 * pairs_; ++i) options.outputs.push_back(NullDevice(i));
    const auto open_vswitch = OpenVswitch::Start(options);
    if (!open_vswitch.ok()) return open_vswitch.status();
    std::vector<ForwarderRun> runs;
    for (const bool use_cache : {true, false}) {
      if (!use_cache) {
        if (absl::Status s = (*open_vswitch)->UseExactMatchCache(false); !s.ok()) return s;
      }
      const CpuShare share((*open_vswitch)->pid(), cpus_.size());
      const auto pps = (*open_vswitch)->SentPerSecond(options_.seconds);
      if (!pps.ok()) return pps.status();
      runs.push_back({*pps, share.so_far()});
    }
    return std::pair{runs[0], runs[1]};
  }

  // Measures the frames that leave at the last device of each pair.
  absl::StatusOr<ForwarderRun> RunTestpmd(const std::string& mode) const {
    auto testpmd = Testpmd::Start({.program = options_.testpmd,
                                   .mode = mode,
                                   .devices = Devices(),
                                   .cpus = TestpmdCpus(),
                                   .first_bursts = rings() ? kCirculatingBursts : 0,
                                   .memory_mb = kFabricMemoryMb,
                                   .patience_seconds = options_.patience_seconds},
                                  directory_.path() + "/testpmd.log");
    if (!testpmd.ok()) return testpmd.status();
    PauseFor(kSettleSeconds);
    const CpuShare share((*testpmd)->process().pid(), TestpmdCpus().size());
    const auto pps = (*testpmd)->SentPerSecond(Sinks(), options_.seconds);
    if (!pps.ok()) return pps.status();
    return ForwarderRun{*pps, share.so_far()};
  }

 private:
  bool rings() const { return options_.devices == ClosedDevices::kRing; }
  // The frames of a port go to the rows of this port, so that they come back to it.
  std::vector<std::pair<std::string, Frames>> Circulating() const {
    std::vector<std::pair<std::string, Frames>> circulating;
    for (int port = 0; rings() && port < 2; ++port) {
      circulating.emplace_back(
          RingDevice(port), FramesBetween(RowsOf(0, port), RowsOf(0, port), options_.frame_bytes));
    }
    return circulating;
  }
  // Two pairs have a quarter of the rows at each device, one pair has half of them. If rows are
  // shared, the rows of a pair belong to one worker.
  std::vector<Row> RowsOf(int pair, int side) const {
    const uint32_t part = (1u << options_.stages) / (2 * static_cast<uint32_t>(pairs_));
    return ConsecutiveRows(static_cast<Row>(2 * pair + side) * part, part);
  }
  // The output of the circuit at `input`. These circuits take a row from a capture to a sink, share
  // no link, and half of them change the half of the rows where rows are shared. Behind hop k of a
  // circuit, k leading bits of the row are those of the output; the rows of two circuits never
  // agree there, because the other bits are those of the input and say all that the leading ones
  // are made of.
  Row CircuitOf(Row input) const {
    const Row complement = ~input & ((1u << options_.stages) - 1);
    return pairs_ == 1 ? complement : complement ^ (input & 1) << (options_.stages - 1);
  }
  std::vector<RowPair> Circuits() const {
    std::vector<RowPair> circuits;
    for (Row row = 0; row < 1u << options_.stages; ++row)
      circuits.emplace_back(row, CircuitOf(row));
    return circuits;
  }
  // One core for each pair: testpmd forwards a pair on one core.
  std::vector<int> TestpmdCpus() const {
    return {cpus_.begin(), cpus_.begin() + std::min<ptrdiff_t>(pairs_, std::ssize(cpus_))};
  }
  // The numbers of the devices that frames leave by.
  std::vector<int> Sinks() const {
    if (rings()) return {0, 1};
    return pairs_ == 1 ? std::vector{1} : std::vector{1, 3};
  }
  std::string Capture(int pair) const {
    return absl::StrCat(directory_.path(), "/", pair, ".pcap");
  }
  std::string CaptureDevice(int pair) const {
    return absl::StrCat("net_pcap", pair, ",rx_pcap=", Capture(pair), ",infinite_rx=1");
  }
  static std::string NullDevice(int number) { return absl::StrCat("net_null", number, ",no-rx=1"); }
  static std::string RingDevice(int number) { return absl::StrCat("net_ring", number); }
  std::vector<std::string> Devices() const {
    if (rings()) return {RingDevice(0), RingDevice(1)};
    std::vector<std::string> devices;
    for (int pair = 0; pair < pairs_; ++pair) {
      devices.push_back(CaptureDevice(pair));
      devices.push_back(NullDevice(pair));
    }
    return devices;
  }

  FabricConfig ConfigOf(const MeasuredFabric& fabric) const {
    const ClosedPlacement placement = fabric.placement;
    FabricConfig config;
    config.name = "bench";
    config.network = fabric.network;
    config.links.base = fabric.links;
    // So a frame that comes out has followed a circuit.
    if (fabric.circuits) config.without_circuit = WithoutCircuit::kDrop;
    config.idle = IdleMode::kPoll;
    const StagePlacement all = {
        .first_stage = 0, .last_stage = options_.stages - 1, .lcore = cpus_.back()};
    config.placement = {all};
    if (placement != ClosedPlacement::kOne) {
      config.placement.push_back(all);
      config.placement[0].lcore = cpus_.front();
    }
    if (placement == ClosedPlacement::kStages) {
      // The core that polls the capture gets the smaller part.
      config.placement[0].last_stage = options_.stages / 3 - 1;
      config.placement[1].first_stage = options_.stages / 3;
    } else if (placement == ClosedPlacement::kRows) {
      const Row half = config.network.rows / 2;
      config.placement[0].rows = {0, half - 1};
      config.placement[1].rows = {half, config.network.rows - 1};
    }
    const std::vector<std::string> devices = Devices();
    for (int i = 0; i < 2 * pairs_; ++i) {
      HostPortConfig port;
      port.name = absl::StrCat("p", i);
      port.device = devices[static_cast<size_t>(i)];
      port.rows = RowsOf(i / 2, i % 2);
      config.ports.push_back(std::move(port));
    }
    return config;
  }

  const ClosedBenchOptions options_;
  const int pairs_;
  std::vector<int> cpus_;
  BenchDirectory directory_;
  std::set<Row> targets_;  // the destination rows of all frames
};

}  // namespace

absl::Status CheckClosedBench(const ClosedBenchOptions& o) {
  const absl::Status status = FirstError({CheckOption("stages", o.stages, 3, 20),
                                          CheckFrameRuns(o.frame_bytes, o.seconds, o.runs),
                                          CheckPatience(o.patience_seconds)});
  if (!status.ok()) return status;
  if (o.network.kind != NetworkKind::kButterfly &&
      o.network.kind != NetworkKind::kDilatedButterfly &&
      o.network.kind != NetworkKind::kMultibutterfly) {
    return absl::InvalidArgumentError(
        absl::StrCat("network: ", KindName(o.network.kind),
                     "; allowed: butterfly, dilated_butterfly, multibutterfly"));
  }
  if (o.circuits && o.network.kind != NetworkKind::kButterfly) {
    return absl::InvalidArgumentError(absl::StrCat(
        "circuits: they are measured on a butterfly, not on a ", KindName(o.network.kind)));
  }
  if (o.devices == ClosedDevices::kRing &&
      (o.circuits || o.placement != ClosedPlacement::kOne || !o.open_vswitch.empty())) {
    return absl::InvalidArgumentError(
        "devices: with ring, one core is measured, without circuits and Open vSwitch");
  }
  if (const auto network = Network::Make(SpecOf(o)); !network.ok()) return network.status();
  if (absl::Status wrong = CheckLinkShape("links.", o.links); !wrong.ok()) return wrong;
  if (o.placement != ClosedPlacement::kOne && UsableCpus().size() < 2) {
    return absl::UnavailableError(
        absl::StrCat("placement: two CPUs are needed; this process may "
                     "use only ",
                     FormatCpus(UsableCpus())));
  }
  if (o.placement != ClosedPlacement::kOne && UsableCpus().size() == 2 && IsRealTime()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "placement: two real-time workers would take all of CPUs ", FormatCpus(UsableCpus()),
        ", and the programs that they belong to could not answer; run it without chrt"));
  }
  return absl::OkStatus();
}

absl::StatusOr<ClosedBenchResult> RunClosedBench(const ClosedBenchOptions& options) {
  if (absl::Status status = CheckClosedBench(options); !status.ok()) return status;
  ClosedBench bench(options);
  if (absl::Status status = bench.WriteCaptures(); !status.ok()) return status;
  ClosedBenchResult result{.cpus = bench.cpus(), .port_pairs = bench.pairs()};
  const auto open_vswitch = options.devices == ClosedDevices::kRing
                                ? absl::NotFoundError("it is measured with captures only")
                                : FindOpenVswitch(options.open_vswitch);
  if (open_vswitch.ok()) {
    result.open_vswitch_version = open_vswitch->version;
  } else {
    if (!options.open_vswitch.empty()) return open_vswitch.status();
    result.no_open_vswitch = std::string(open_vswitch.status().message());
  }
  const NetworkSpec network = SpecOf(options);
  const NetworkSpec plain_network = {.kind = NetworkKind::kButterfly, .rows = network.rows};
  std::vector<double> bfly, one_core, quotients, plain, plain_quotients;
  std::vector<std::vector<double>> forwarded(std::size(kForwardModes)), over(forwarded.size());
  for (const char* mode : kForwardModes) result.testpmd.push_back({.mode = mode});
  std::vector<double> no_circuits, no_circuits_quotients, late_means, late_p99s;
  std::vector<double> switched, uncached, switch_quotients;
  for (int run = 0; run < options.runs; ++run) {
    for (size_t i = 0; i < result.testpmd.size(); ++i) {
      const auto forwarder = bench.RunTestpmd(result.testpmd[i].mode);
      if (!forwarder.ok()) return forwarder.status();
      forwarded[i].push_back(forwarder->pps);
      result.testpmd[i].on_cpu = std::min(result.testpmd[i].on_cpu, forwarder->on_cpu);
    }
    MeasuredFabric fabric{.network = network, .links = options.links, .circuits = options.circuits};
    const auto one = bench.RunBfly(fabric);
    if (!one.ok()) return one.status();
    one_core.push_back(one->frames_per_second);
    fabric.placement = options.placement;
    auto it = one;
    if (options.placement != ClosedPlacement::kOne) it = bench.RunBfly(fabric);
    if (!it.ok()) return it.status();
    bfly.push_back(it->frames_per_second);
    quotients.push_back(it->frames_per_second / one->frames_per_second);
    late_means.push_back(it->late_mean_us);
    late_p99s.push_back(it->late_p99_us);
    for (size_t i = 0; i < over.size(); ++i) {
      over[i].push_back(it->frames_per_second / forwarded[i].back());
    }
    result.one_core_busy = std::min(result.one_core_busy, one->busy);
    result.busy = std::min({result.busy, one->busy, it->busy});
    result.dropped_part = std::max({result.dropped_part, one->dropped_part, it->dropped_part});
    result.on_cpu = std::min({result.on_cpu, one->on_cpu, it->on_cpu});
    result.conservation += it->conservation;
    // Measures `other` too, and appends its rate and the quotient.
    const auto beside = [&](const MeasuredFabric& other, std::vector<double>& rates,
                            std::vector<double>& quotients_of_it) {
      const auto measured = bench.RunBfly(other);
      if (!measured.ok()) return measured.status();
      rates.push_back(measured->frames_per_second);
      quotients_of_it.push_back(it->frames_per_second / measured->frames_per_second);
      result.busy = std::min(result.busy, measured->busy);
      result.dropped_part = std::max(result.dropped_part, measured->dropped_part);
      result.on_cpu = std::min(result.on_cpu, measured->on_cpu);
      result.conservation += measured->conservation;
      return absl::OkStatus();
    };
    if (open_vswitch.ok()) {
      const auto rates = bench.RunOpenVswitch(open_vswitch->path);
      if (!rates.ok()) return rates.status();
      const auto& [with_cache, without_cache] = *rates;
      switched.push_back(with_cache.pps);
      uncached.push_back(without_cache.pps);
      switch_quotients.push_back(it->frames_per_second / with_cache.pps);
      result.open_vswitch_on_cpu =
          std::min({result.open_vswitch_on_cpu, with_cache.on_cpu, without_cache.on_cpu});
    }
    absl::Status status;
    if (options.circuits) {
      fabric.circuits = false;
      status = beside(fabric, no_circuits, no_circuits_quotients);
    }
    if (status.ok() && !options.is_plain()) {
      status = beside({.placement = options.placement, .network = plain_network}, plain,
                      plain_quotients);
    }
    if (!status.ok()) return status;
  }
  result.bfly_pps = StatisticsOf(std::move(bfly));
  result.one_core_pps = StatisticsOf(std::move(one_core));
  result.over_one_core = StatisticsOf(std::move(quotients));
  if (options.circuits) {
    result.no_circuits_pps = StatisticsOf(std::move(no_circuits));
    result.over_no_circuits = StatisticsOf(std::move(no_circuits_quotients));
  }
  if (!options.is_plain()) {
    result.plain_pps = StatisticsOf(std::move(plain));
    result.over_plain = StatisticsOf(std::move(plain_quotients));
  }
  if (open_vswitch.ok()) {
    result.open_vswitch_pps = StatisticsOf(std::move(switched));
    result.open_vswitch_uncached_pps = StatisticsOf(std::move(uncached));
    result.over_open_vswitch = StatisticsOf(std::move(switch_quotients));
  }
  result.late_mean_us = StatisticsOf(std::move(late_means));
  result.late_p99_us = StatisticsOf(std::move(late_p99s));
  for (size_t i = 0; i < result.testpmd.size(); ++i) {
    result.testpmd[i].pps = StatisticsOf(std::move(forwarded[i]));
    result.testpmd[i].bfly_over_it = StatisticsOf(std::move(over[i]));
  }
  return result;
}

}  // namespace bfly::dataplane
