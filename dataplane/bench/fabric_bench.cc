// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/fabric_bench.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/bench/step_traffic.h"
#include "dataplane/fabric/loaded_fabric.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kDrawnPackets = 1 << 16;
constexpr double kWarmUpSeconds = 0.05;

void SleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// Replays drawn traffic, with one step in each batch.
class StepInlet final : public Inlet {
 public:
  // Replays the traffic that begins at `rows`.
  StepInlet(const Network& network, const StepTraffic& traffic, RowRange rows) {
    uint32_t drawn = 0;
    for (const StepTraffic::Packet& p : traffic.packets) {
      while (step_end_.size() < traffic.step_end.size() &&
             drawn == traffic.step_end[step_end_.size()]) {
        step_end_.push_back(static_cast<uint32_t>(packets_.size()));
      }
      ++drawn;
      if (!rows.has(p.input)) continue;
      packets_.push_back(
          {.tag = ToWire(GreedyTag(network, p.input, p.output), network.tag_layout().bits()),
           .mbuf = nullptr,
           .time = 0,
           .row = p.input,
           .bytes = 64,
           .input = static_cast<uint16_t>(p.input)});
    }
    step_end_.resize(traffic.step_end.size(), static_cast<uint32_t>(packets_.size()));
  }

  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    if (next_ == step_end_[step_]) {
      // A batch ends at the end of a step. The next step begins in the next pass.
      if (++step_ == step_end_.size()) step_ = next_ = 0;
      return 0;
    }
    const uint32_t count =
        std::min<uint32_t>(static_cast<uint32_t>(room), step_end_[step_] - next_);
    std::copy_n(&packets_[next_], count, burst);
    next_ += count;
    ledger.injected += count;
    return static_cast<int>(count);
  }

 private:
  std::vector<Descriptor> packets_;
  std::vector<uint32_t> step_end_;
  size_t step_ = 0;
  uint32_t next_ = 0;
};

absl::Status CheckOptions(const FabricBenchOptions& o) {
  if (!(o.load > 0 && o.load <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("load: ", o.load, " is not above 0 and at most 1"));
  }
  const int cpus = static_cast<int>(UsableCpus().size());
  return FirstError({CheckOption("workers", o.workers, 1, cpus),
                     CheckOption("seconds", o.seconds, 0.05, 60.0),
                     CheckOption("runs", o.runs, 1, 100)});
}

// Places the stages in `workers` equal parts, in order.
FabricConfig ConfigOf(const FabricBenchOptions& options, const Network& network) {
  FabricConfig config;
  config.name = "bench";
  config.network = options.network;
  // An adaptive worker spins long before it sleeps, so it loses nothing if it has a core to itself.
  // If it shares a core with a worker for which it waits, it lets that worker run.
  config.idle = IdleMode::kAdaptive;
  config.placement = EqualParts(network.stages(), options.workers);
  return config;
}

}  // namespace

absl::StatusOr<FabricBenchResult> RunFabricBench(const FabricBenchOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const absl::StatusOr<Network> network = Network::Make(options.network);
  if (!network.ok()) return network.status();
  const StepTraffic traffic = DrawStepTraffic(*network, options.load, kDrawnPackets, options.seed);
  if (traffic.packets.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("load: ", options.load, " of ", network->rows(),
                                                   " rows drew no packet at all; raise it"));
  }
  const FabricConfig config = ConfigOf(options, *network);
  // The loop runs a butterfly of one port a direction, because parallel links make no difference to
  // it.
  NetworkSpec loop_spec = options.network;
  if (network->multiplicity() > 1)
    loop_spec = {.kind = NetworkKind::kButterfly, .rows = loop_spec.rows};
  const Network loop_network = *Network::Make(loop_spec);

  FabricBenchResult result;
  result.options = options;
  std::vector<double> wall, cpu, baseline_wall, baseline_cpu, loads;
  for (int run = 0; run < options.runs; ++run) {
    const Clock::time_point load_start = Clock::now();
    auto fabric =
        LoadedFabric::Load(config, [&traffic](const Network& n, const RouteTable&, RowRange rows) {
          return std::make_unique<StepInlet>(n, traffic, rows);
        });
    if (!fabric.ok()) return fabric.status();
    loads.push_back(SecondsSince(load_start));
    SleepFor(kWarmUpSeconds);
    const uint64_t before = (*fabric)->summary().conservation.delivered;
    const double cpu_before = (*fabric)->CpuSeconds();
    const Clock::time_point start = Clock::now();
    SleepFor(options.seconds);
    const uint64_t delivered = (*fabric)->summary().conservation.delivered - before;
    const double seconds = SecondsSince(start);
    const double cpu_seconds = (*fabric)->CpuSeconds() - cpu_before;
    if (absl::Status status = (*fabric)->Unload(); !status.ok()) return status;
    result.conservation += (*fabric)->summary().conservation;
    const uint64_t hops = delivered * static_cast<uint64_t>(network->hops());
    result.hops += hops;
    wall.push_back(static_cast<double>(hops) / seconds);
    cpu.push_back(static_cast<double>(hops) / cpu_seconds);
    const LoopSpeed baseline = MeasurePlainLoop(loop_network, traffic, options.seconds);
    baseline_wall.push_back(baseline.hops_per_second);
    baseline_cpu.push_back(baseline.hops_per_cpu_second);
  }
  result.hops_per_second = StatisticsOf(wall);
  result.baseline_hops_per_second = StatisticsOf(baseline_wall);
  result.ratio = result.hops_per_second.median / result.baseline_hops_per_second.median;
  result.hops_per_cpu_second = StatisticsOf(cpu);
  result.baseline_hops_per_cpu_second = StatisticsOf(baseline_cpu);
  result.cpu_ratio = result.hops_per_cpu_second.median / result.baseline_hops_per_cpu_second.median;
  result.ns_per_hop = 1e9 / result.hops_per_cpu_second.median;
  result.load_seconds = StatisticsOf(loads).median;
  return result;
}

}  // namespace bfly::dataplane
