// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/closed_bench.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/links/link_plan.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFabricStartSeconds = 30;
constexpr double kFabricStopSeconds = 10;
constexpr double kSettleSeconds = 0.2;
constexpr int kFabricMemoryMb = 384;

NetworkSpec SpecOf(const ClosedBenchOptions& options) {
  NetworkSpec spec = options.network;
  spec.rows = 1u << options.stages;
  return spec;
}

absl::Status CheckOptions(const ClosedBenchOptions& o) {
  const absl::Status status = FirstError(
      {CheckOption("stages", o.stages, 3, 20), CheckFrameRuns(o.frame_bytes, o.seconds, o.runs)});
  if (!status.ok()) return status;
  if (o.network.kind != NetworkKind::kButterfly &&
      o.network.kind != NetworkKind::kDilatedButterfly &&
      o.network.kind != NetworkKind::kMultibutterfly) {
    return absl::InvalidArgumentError(
        absl::StrCat("network: ", KindName(o.network.kind),
                     "; allowed: butterfly, dilated_butterfly, multibutterfly"));
  }
  if (const auto network = Network::Make(SpecOf(o)); !network.ok()) return network.status();
  if (absl::Status wrong = CheckLinkShape("links.", o.links); !wrong.ok()) return wrong;
  if (o.placement != ClosedPlacement::kOne && UsableCpus().size() < 2) {
    return absl::UnavailableError(
        absl::StrCat("placement: two CPUs are needed; this process may "
                     "use only ",
                     FormatCpus(UsableCpus())));
  }
  return absl::OkStatus();
}

void PauseFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// What a child reports of a run.
struct FabricRun {
  double frames_per_second = 0;
  double busy = 0;
  double late_mean_us = 0, late_p99_us = 0;  // of the worker that was latest
  Conservation conservation;
};

double BusyPart(const Snapshot& before, const Snapshot& after) {
  double least = 1;
  for (size_t i = 0; i < after.workers.size(); ++i) {
    const WorkerCounters &a = before.workers[i], &b = after.workers[i];
    if (b.ledger.injected == 0) continue;
    const auto passes = static_cast<double>(b.passes - a.passes);
    const auto idle = static_cast<double>(b.idle_passes - a.idle_passes);
    if (passes > 0) least = std::min(least, 1 - idle / passes);
  }
  return least;
}

int RunFabric(const FabricConfig& config, double seconds, int report) {
  const auto eal = StartEal({.memory_mb = kFabricMemoryMb, .use_hugepages = false});
  if (!eal.ok()) return ChildFailed(eal.status());
  auto fabric = Fabric::Load(config);
  if (!fabric.ok()) return ChildFailed(fabric.status());
  PauseFor(kSettleSeconds);
  const Snapshot before = (*fabric)->summary();
  const Clock::time_point start = Clock::now();
  PauseFor(seconds);
  const Snapshot after = (*fabric)->summary();
  const double took = SecondsSince(start);
  if (absl::Status s = (*fabric)->Unload(); !s.ok()) return ChildFailed(s);
  FabricRun run = {
      .frames_per_second =
          static_cast<double>(after.conservation.delivered - before.conservation.delivered) / took,
      .busy = BusyPart(before, after),
      .conservation = (*fabric)->summary().conservation};
  for (const WorkerCounters& worker : after.workers) {
    run.late_mean_us = std::max(run.late_mean_us, worker.lateness.mean_ns / 1e3);
    run.late_p99_us = std::max(run.late_p99_us, worker.lateness.p99_ns / 1e3);
  }
  return write(report, &run, sizeof(run)) == sizeof(run) ? 0 : 1;
}

// Returns the last number that follows `word` in a text.
double LastNumber(const std::string& text, const std::string& word) {
  const size_t at = text.rfind(word);
  double number = 0;
  if (at == std::string::npos) return 0;
  const std::vector<std::string> rest =
      absl::StrSplit(text.substr(at + word.size(), 40), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return !rest.empty() && absl::SimpleAtod(rest[0], &number) ? number : 0;
}

int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += word.size()) ++count;
  return count;
}

class ClosedBench {
 public:
  explicit ClosedBench(const ClosedBenchOptions& options)
      : options_(options), pairs_(options.placement == ClosedPlacement::kRows ? 2 : 1) {
    cpus_ = {UsableCpus().back()};
    if (options.placement != ClosedPlacement::kOne) cpus_.insert(cpus_.begin(), UsableCpus()[0]);
  }

  const std::vector<int>& cpus() const { return cpus_; }
  int pairs() const { return pairs_; }

  absl::Status WriteCaptures() const {
    std::vector<Row> sinks;
    for (int pair = 0; pair < pairs_; ++pair) {
      const std::vector<Row> rows = RowsOf(pair, 1);
      sinks.insert(sinks.end(), rows.begin(), rows.end());
    }
    absl::Status status;
    for (int pair = 0; pair < pairs_; ++pair) {
      status.Update(
          WritePcap(Capture(pair), FramesBetween(RowsOf(pair, 0), sinks, options_.frame_bytes)));
    }
    return status;
  }

  absl::StatusOr<FabricRun> RunBfly(ClosedPlacement placement, const NetworkSpec& network,
                                    const LinkShape& links) const {
    const std::string log = directory_.path() + "/bfly.log";
    auto device = BenchProcess::Fork(log, [&](int report, int) {
      return RunFabric(ConfigOf(placement, network, links), options_.seconds, report);
    });
    if (!device.ok()) return device.status();
    FabricRun run;
    if (!(*device)->Read(&run, sizeof(run), 2 * options_.seconds + kFabricStartSeconds)) {
      return absl::UnavailableError(absl::StrCat("bfly does not run: ", (*device)->LogTail()));
    }
    (*device)->Stop(kFabricStopSeconds);
    return run;
  }

  // Returns the frames a second that leave at the last device of each pair.
  absl::StatusOr<double> RunTestpmd(const char* mode) const {
    std::string lcores = absl::StrCat("--lcores=0@(", FormatCpus(UsableCpus()), ")");
    for (int i = 0; i < pairs_; ++i) absl::StrAppend(&lcores, ",", i + 1, "@", cpus_[i]);
    std::vector<std::string> words = {"stdbuf",
                                      "-oL",
                                      options_.testpmd,
                                      "--no-huge",
                                      "--no-shconf",
                                      "--no-pci",
                                      "--no-telemetry",
                                      "-m",
                                      absl::StrCat(kFabricMemoryMb),
                                      lcores,
                                      "--main-lcore=0"};
    for (const std::string& device : Devices()) words.push_back("--vdev=" + device);
    words.insert(words.end(), {"--", "-i", "--auto-start", absl::StrCat("--forward-mode=", mode),
                               absl::StrCat("--nb-cores=", pairs_), "--total-num-mbufs=16384",
                               "--burst=64", "--mbcache=256", "--no-lsc-interrupt"});
    auto device = BenchProcess::Execute(directory_.path() + "/testpmd.log", words);
    if (!device.ok()) return device.status();
    const auto failed = [&](const char* what) {
      return absl::UnavailableError(
          absl::StrCat(options_.testpmd, what, ": ", (*device)->LogTail()));
    };
    if (!(*device)->WaitForLog("testpmd> ", kFabricStartSeconds)) return failed(" does not start");
    PauseFor(kSettleSeconds);
    // The second time, testpmd prints the rate since the first time.
    for (int times = 1; times <= 2; ++times) {
      if (times > 1) PauseFor(options_.seconds);
      for (int pair = 0; pair < pairs_; ++pair) {
        (*device)->Tell(absl::StrCat("show port stats ", 2 * pair + 1, "\n"));
      }
      const Clock::time_point start = Clock::now();
      while (Count((*device)->Log(), "Tx-pps:") < times * pairs_) {
        if (SecondsSince(start) > kFabricStopSeconds)
          return failed(" does not say what it counted");
        PauseFor(0.01);
      }
    }
    PauseFor(0.05);  // the rest of the line may follow
    const std::string log = (*device)->Log();
    double sum = 0;
    for (int pair = 0; pair < pairs_; ++pair) {
      const size_t at = log.rfind(absl::StrCat("NIC statistics for port ", 2 * pair + 1));
      if (at != std::string::npos) sum += LastNumber(log.substr(at, 1000), "Tx-pps:");
    }
    (*device)->Tell("quit\n");
    (*device)->Stop(kFabricStopSeconds);
    if (sum == 0) return failed(" forwarded nothing");
    return sum;
  }

 private:
  // Two pairs have a quarter of the rows at each device, one pair has half of them. If rows are
  // shared, the rows of a pair belong to one worker.
  std::vector<Row> RowsOf(int pair, int side) const {
    const uint32_t part = (1u << options_.stages) / (2 * static_cast<uint32_t>(pairs_));
    return ConsecutiveRows(static_cast<Row>(2 * pair + side) * part, part);
  }
  std::string Capture(int pair) const {
    return absl::StrCat(directory_.path(), "/", pair, ".pcap");
  }
  std::vector<std::string> Devices() const {
    std::vector<std::string> devices;
    for (int pair = 0; pair < pairs_; ++pair) {
      devices.push_back(
          absl::StrCat("net_pcap", pair, ",rx_pcap=", Capture(pair), ",infinite_rx=1"));
      devices.push_back(absl::StrCat("net_null", pair, ",no-rx=1"));
    }
    return devices;
  }

  FabricConfig ConfigOf(ClosedPlacement placement, const NetworkSpec& network,
                        const LinkShape& links) const {
    FabricConfig config;
    config.name = "bench";
    config.network = network;
    config.links.base = links;
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
};

void Add(Conservation& sum, const Conservation& c) {
  sum.injected += c.injected;
  sum.delivered += c.delivered;
  sum.dropped += c.dropped;
  sum.in_flight += c.in_flight;
}

}  // namespace

absl::StatusOr<ClosedBenchResult> RunClosedBench(const ClosedBenchOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const ClosedBench bench(options);
  if (absl::Status status = bench.WriteCaptures(); !status.ok()) return status;
  ClosedBenchResult result{.cpus = bench.cpus(), .port_pairs = bench.pairs()};
  const NetworkSpec network = SpecOf(options);
  const NetworkSpec plain_network = {.kind = NetworkKind::kButterfly, .rows = network.rows};
  std::vector<double> bfly, one_core, quotients, plain, plain_quotients, io, mac;
  std::vector<double> late_means, late_p99s;
  for (int run = 0; run < options.runs; ++run) {
    for (auto& [mode, into] : {std::pair{"io", &io}, {"mac", &mac}}) {
      const absl::StatusOr<double> pps = bench.RunTestpmd(mode);
      if (!pps.ok()) return pps.status();
      into->push_back(*pps);
    }
    const auto one = bench.RunBfly(ClosedPlacement::kOne, network, options.links);
    if (!one.ok()) return one.status();
    one_core.push_back(one->frames_per_second);
    auto it = one;
    if (options.placement != ClosedPlacement::kOne) {
      it = bench.RunBfly(options.placement, network, options.links);
    }
    if (!it.ok()) return it.status();
    bfly.push_back(it->frames_per_second);
    quotients.push_back(it->frames_per_second / one->frames_per_second);
    late_means.push_back(it->late_mean_us);
    late_p99s.push_back(it->late_p99_us);
    result.busy = std::min({result.busy, one->busy, it->busy});
    Add(result.conservation, it->conservation);
    if (options.is_plain()) continue;
    const auto other = bench.RunBfly(options.placement, plain_network, {});
    if (!other.ok()) return other.status();
    plain.push_back(other->frames_per_second);
    plain_quotients.push_back(it->frames_per_second / other->frames_per_second);
    Add(result.conservation, other->conservation);
  }
  result.bfly_pps = StatisticsOf(std::move(bfly));
  result.one_core_pps = StatisticsOf(std::move(one_core));
  result.over_one_core = StatisticsOf(std::move(quotients));
  if (!options.is_plain()) {
    result.plain_pps = StatisticsOf(std::move(plain));
    result.over_plain = StatisticsOf(std::move(plain_quotients));
  }
  result.late_mean_us = StatisticsOf(std::move(late_means));
  result.late_p99_us = StatisticsOf(std::move(late_p99s));
  result.testpmd_io_pps = StatisticsOf(std::move(io));
  result.testpmd_mac_pps = StatisticsOf(std::move(mac));
  result.ratio = result.bfly_pps.median / result.testpmd_io_pps.median;
  return result;
}

}  // namespace bfly::dataplane
