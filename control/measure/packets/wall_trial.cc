// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/wall_trial.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "dataplane/wall_clock/wall_run.h"

namespace bfly::control {
namespace {

// Time for the packets that are inside when the sources stop. A network that needs more is
// saturated.
constexpr double kDrainUnits = 2000;
constexpr double kDrainSeconds = 5;

absl::StatusOr<TrafficPatternSpec> PatternOf(const PacketPoint& point, uint64_t seed) {
  if (point.pattern.empty()) return TrafficPatternSpec{.name = "p-flip", .p = point.p};
  if (point.pattern == "uniform") return TrafficPatternSpec{.name = "uniform"};
  absl::StatusOr<Permutation> permutation = PermutationOf(point, seed);
  if (!permutation.ok()) return permutation.status();
  return TrafficPatternSpec{.name = "permutation", .permutation = *std::move(permutation)};
}

double UnitSeconds(const v1::Experiment& experiment) { return experiment.unit_us() * 1e-6; }

}  // namespace

absl::Status CheckWallPoint(const v1::Experiment& experiment, const PacketPoint& point) {
  const auto virtual_alone = [](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is measured under the virtual clock alone"));
  };
  // Built-in sources send packets of one class.
  if (point.discipline == dataplane::Discipline::kPriority) {
    return virtual_alone("discipline: priority");
  }
  if (experiment.coupled()) return virtual_alone("coupled: a coupled sample path");
  if (point.in_rounds) return virtual_alone("scheme: valiant_brebner");
  if (point.extra_stages.value_or(0) > 0) return virtual_alone("extra_stages");
  if (point.faults.value_or(0) > 0) return virtual_alone("faulty_switches");
  if (point.links != dataplane::LinkModel::kEdge) return virtual_alone("links: switch_output");
  // A rule must identify every straight link of a hypercube.
  if (point.network == NetworkKind::kHypercube && point.d > 12) {
    return absl::InvalidArgumentError(
        absl::StrCat("d: ", point.d, " is above 12, the largest hypercube on the wall clock"));
  }
  if (experiment.workers() > static_cast<uint32_t>(point.depth())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "workers: ", experiment.workers(), " is more than the ", point.depth(), " stages of ",
        point.ToString(), "; workers share stages, so use at most one for each"));
  }
  const double per_second =
      point.lambda() * static_cast<double>(point.rows()) / UnitSeconds(experiment);
  // The rate that one source can sustain on one core, with a margin.
  constexpr double kMostPackets = 2e6;
  if (per_second > kMostPackets) {
    return absl::InvalidArgumentError(
        absl::StrCat("unit_us: ", experiment.unit_us(), " at ", point.ToString(), " means ",
                     per_second, " packets a second, more than ", kMostPackets, "; raise it to ",
                     std::ceil(experiment.unit_us() * per_second / kMostPackets), " or more"));
  }
  return absl::OkStatus();
}

double WallSecondsOf(const v1::Experiment& experiment, const PacketPoint& point) {
  return (WarmupOf(experiment, point) + DurationOf(experiment, point)) * UnitSeconds(experiment);
}

absl::StatusOr<Trial> RunWallTrial(const v1::Experiment& experiment, const PacketPoint& point,
                                   uint64_t seed, const std::function<bool()>& interrupted) {
  const double unit = UnitSeconds(experiment);
  dataplane::WallRunConfig config;
  config.network = point.network_spec(seed);
  config.bytes = kWallBytes;
  config.bits_per_second = static_cast<uint64_t>(std::llround(kWallBytes * 8 / unit));
  config.packets_per_second = point.lambda() / unit;
  if (point.slot > 0) {
    config.process = point.bernoulli ? ArrivalProcess::kBernoulli : ArrivalProcess::kSlottedBatch;
    config.slot = point.slot * unit;
  }
  absl::StatusOr<TrafficPatternSpec> pattern = PatternOf(point, seed);
  if (!pattern.ok()) return pattern.status();
  config.pattern = *std::move(pattern);
  if (point.discipline == dataplane::Discipline::kProcessorSharing) {
    config.discipline = dataplane::Discipline::kProcessorSharing;
  }
  config.seed = seed;
  config.warmup = WarmupOf(experiment, point) * unit;
  config.duration = DurationOf(experiment, point) * unit;
  config.drain = std::min(kDrainUnits * unit, kDrainSeconds);
  config.workers = static_cast<int>(experiment.workers());
  const absl::StatusOr<dataplane::WallRunResult> run = dataplane::RunWall(config, interrupted);
  if (!run.ok()) return run.status();

  const double units = run->seconds / unit;
  const auto per_row = [&](uint64_t packets) {
    return static_cast<double>(packets) / units / static_cast<double>(point.rows());
  };
  const double ns = unit * 1e9;
  const dataplane::LatencyReport& latency = run->latency;
  Trial trial{.seed = seed,
              .offered = per_row(run->offered),
              .accepted = per_row(run->delivered),
              .mean_delay = latency.end_to_end.mean / ns,
              .p50 = latency.end_to_end.p50 / ns,
              .p99 = latency.end_to_end.p99 / ns,
              .mean_population = run->mean_population,
              .measured = latency.end_to_end.count,
              .unfinished = run->unfinished,
              .batch_delays = {}};
  for (const auto& batch : run->batches) trial.batch_delays.push_back(batch.mean_ns / ns);
  for (const dataplane::LatencySummary& stage : latency.stages) {
    trial.stages.push_back({stage.mean / ns, stage.p50 / ns, stage.p99 / ns});
  }
  const absl::StatusOr<Network> network = Network::Make(config.network);
  if (!network.ok()) return network.status();
  if (absl::Status status = AddLinkUse(*network, run->link_packets, units, point, trial);
      !status.ok()) {
    return status;
  }
  trial.figures["delivered_delay"] = trial.mean_delay;
  trial.figures["links_delay"] = latency.links.mean / ns;
  trial.figures["links_p50"] = latency.links.p50 / ns;
  trial.figures["links_p99"] = latency.links.p99 / ns;
  trial.figures["late_mean_us"] = latency.late.mean / 1e3;
  trial.figures["late_p99_us"] = latency.late.p99 / 1e3;
  trial.figures["late_max_us"] = latency.late.max / 1e3;
  return trial;
}

}  // namespace bfly::control
