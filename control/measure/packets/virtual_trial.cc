// SPDX-License-Identifier: Apache-2.0
// One run of one point: its length, its configuration and its figures.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/measure/packets/conditions.h"
#include "control/measure/packets/packet_point.h"
#include "dataplane/virtual_clock/coupled.h"
#include "dataplane/virtual_clock/rounds.h"
#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/fault_plan.h"
#include "topologies/permutation.h"

namespace bfly::control {
namespace {

using dataplane::Discipline;
using dataplane::LinkModel;

constexpr char kUniform[] = "uniform";  // a pattern
constexpr double kMostStageHops = 5e8;  // for a trial that measures every stage: a minute

constexpr double kLeastIdle = 0.01;  // of the busiest link, for the rule of the warm-up

// The largest of all seeds.
double MostUse(const PacketPoint& point) { return UseOf(point, point.worst_link); }

// A queue that starts empty forgets its start in some 2 / idle^2 units. After four times that, it
// lacks less than a thousandth of its mean (reflected Brownian motion; Abate & Whitt 1987). A round
// of the non-greedy scheme serves a packet of each node, as a unit of time serves one of each link.
double WarmupAt(const PacketPoint& point, double idle) {
  return 8 * (point.depth() / idle + (point.in_rounds ? point.d : 1) / (idle * idle));
}

double HopsOf(const v1::Experiment& experiment, const PacketPoint& point) {
  const double time = WarmupOf(experiment, point) + DurationOf(experiment, point);
  // A run beyond saturation gets twice the time.
  return (MostUse(point) < 1 ? 1 : 2) * time * point.lambda() * point.rows() * point.depth();
}

absl::StatusOr<dataplane::VirtualConfig> ConfigOf(const v1::Experiment& experiment,
                                                  const PacketPoint& point, uint64_t seed) {
  dataplane::VirtualConfig config;
  config.arrivals.rate = point.lambda();
  config.arrivals.seed = seed;
  config.flip = point.p;
  config.discipline = point.discipline;
  config.class_shares = point.class_shares;
  config.links = point.links;
  config.one_a_slot = point.bernoulli;
  config.occupancy = point.discipline == Discipline::kProcessorSharing;
  config.stage_percentiles =
      point.discipline == Discipline::kPriority ||
      (seed == experiment.seeds(0) && HopsOf(experiment, point) <= kMostStageHops);
  config.warmup = WarmupOf(experiment, point);
  config.duration = DurationOf(experiment, point);
  if (point.pattern == kUniform) {
    config.flip = 0.5;
  } else if (!point.pattern.empty()) {
    absl::StatusOr<Permutation> permutation = PermutationOf(point, seed);
    if (!permutation.ok()) return permutation.status();
    config.fixed = *std::move(permutation);
  }
  if (point.slot > 0) {
    config.arrivals.process = dataplane::ArrivalConfig::Process::kSlotBatch;
    config.slots_per_unit = static_cast<uint32_t>(std::lround(1 / point.slot));
    config.warmup = std::ceil(config.warmup);
    config.duration = std::ceil(config.duration);
  }
  return config;
}

// The limits that the engine has beside those of CheckEffort.
absl::Status CheckEngine(const v1::Experiment& experiment, const PacketPoint& point) {
  const uint64_t seed = experiment.seeds(0);
  const absl::StatusOr<Network> network = Network::Make(point.network_spec(seed));
  if (!network.ok()) return network.status();
  const absl::StatusOr<dataplane::VirtualConfig> config = ConfigOf(experiment, point, seed);
  if (!config.ok()) return config.status();
  const absl::Status status = dataplane::CheckVirtual(*network, *config);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(point.pattern.empty() ? "rho: " : "load: ", point.ToString(),
                   " cannot be run: ", status.message()));
}

Trial TrialOf(const dataplane::VirtualResult& run, const PacketPoint& point, uint64_t seed) {
  Trial trial{.seed = seed,
              .offered = run.offered,
              .accepted = run.accepted,
              .mean_delay = run.mean_delay,
              .p50 = run.p50,
              .p99 = run.p99,
              .mean_population = run.occupancy_population.value_or(run.mean_population),
              .measured = run.measured,
              .unfinished = run.unfinished,
              .batch_delays = {}};
  for (const dataplane::DelayBatch& batch : run.batches) {
    if (batch.packets > 0) {
      trial.batch_delays.push_back(batch.delay_sum / static_cast<double>(batch.packets));
    }
  }
  for (const dataplane::StageDelay& stage : run.stages) {
    trial.stages.push_back({stage.mean, stage.p50, stage.p99});
  }
  for (size_t i = 0; i < point.class_shares.size(); ++i) {
    if (run.class_measured[i] == 0) continue;
    trial.figures[absl::StrCat("class_delay_", i)] = run.class_delay[i];
  }
  for (const auto& [kind, shares] : {std::pair{"straight", run.straight_occupancy},
                                     {"cross", run.cross_occupancy},
                                     {"link", run.output_occupancy}}) {
    for (size_t n = 0; n < shares.size(); ++n) {
      trial.figures[absl::StrCat(kind, "_holds_", n)] = shares[n];
    }
  }
  return trial;
}

absl::Status AddCoupled(const Network& network, const PacketPoint& point, double packets,
                        uint64_t seed, Trial& trial) {
  const auto coupled = dataplane::RunCoupled(
      network, {.rate = point.lambda(),
                .flip = point.p,
                .duration = std::min(packets, 1e6) / point.lambda() / point.rows(),
                .seed = seed});
  if (!coupled.ok()) return coupled.status();
  for (const auto& [name, count] : {std::pair{"same_arrivals", coupled->same_arrivals},
                                    {"earlier_arrivals", coupled->earlier_arrivals},
                                    {"links", coupled->links},
                                    {"departures", coupled->departures}}) {
    trial.figures[absl::StrCat("coupled_", name)] = static_cast<double>(count.compared);
    trial.figures[absl::StrCat("coupled_", name, "_violations")] =
        static_cast<double>(count.violations);
  }
  return absl::OkStatus();
}

void AddUtilisation(const Network& network, LinkModel links,
                    const std::vector<uint64_t>& link_packets, double time, Trial& trial) {
  struct Kind {
    uint64_t links = 0, sum = 0, most = 0, least = UINT64_MAX;
    void Add(uint64_t packets) {
      ++links;
      sum += packets;
      most = std::max(most, packets);
      least = std::min(least, packets);
    }
    double utilisation(double time) const {
      return links == 0 ? 0 : static_cast<double>(sum) / time / static_cast<double>(links);
    }
  };
  Kind straight, cross, shared;
  for (uint64_t link = 0; link < network.link_count(); ++link) {
    const LinkId id = network.link_at(link);
    if (links == LinkModel::kSwitchOutput) {
      // The link into a row has the index of port 0 of the row (server_network.h).
      if (id.port == 0) shared.Add(link_packets[link]);
      continue;
    }
    const bool stays = network.next_row(id.stage, id.row, id.port) == id.row;
    if (stays && network.straight_is_free()) continue;
    (stays ? straight : cross).Add(link_packets[link]);
  }
  trial.straight_utilisation = straight.utilisation(time);
  trial.cross_utilisation = cross.utilisation(time);
  trial.figures["link_time"] = time;
  for (const auto& [name, kind] :
       {std::pair{"straight", straight}, {"cross", cross}, {"link", shared}}) {
    if (kind.links == 0) continue;
    trial.figures[absl::StrCat(name, "_busiest")] = static_cast<double>(kind.most) / time;
    trial.figures[absl::StrCat(name, "_idlest")] = static_cast<double>(kind.least) / time;
  }
}

}  // namespace

absl::StatusOr<Permutation> PermutationOf(const PacketPoint& point, uint64_t seed) {
  auto permutation =
      PermutationByName(point.pattern == "randperm" ? "random" : point.pattern, point.rows(), seed);
  if (permutation.ok()) return permutation;
  return absl::InvalidArgumentError(
      absl::StrCat("pattern: \"", point.pattern,
                   "\" is unknown (allowed: uniform, bitcomp, bitrev, transpose, shuffle, "
                   "tornado, neighbor, randperm, identity)"));
}

absl::Status AddLinkUse(const Network& network, const std::vector<uint64_t>& link_packets,
                        double time, const PacketPoint& point, Trial& trial) {
  AddUtilisation(network, point.links, link_packets, time, trial);
  if (point.pattern.empty() || !KnowsWorstLink(point)) return absl::OkStatus();
  const absl::StatusOr<double> worst = WorstLink(point, trial.seed);
  if (worst.ok()) trial.figures["worst_link"] = *worst;
  return worst.status();
}

double UseOf(const PacketPoint& point, double worst_link) {
  if (point.in_rounds) return 2 * point.rho * point.d;  // section 2.3, with R = 1
  if (point.pattern.empty()) return point.some_link_carries_lambda() ? point.lambda() : point.rho;
  return point.load * worst_link;
}

bool StillFills(const PacketPoint& point, double use) {
  const double idle = 1 - use;
  constexpr double kRounding = 1e-9;
  if (point.in_rounds || idle <= 0 || idle >= kLeastIdle - kRounding) return false;
  return point.warmup < WarmupAt(point, idle);
}

double WarmupOf(const v1::Experiment& experiment, const PacketPoint& point) {
  if (experiment.warmup() > 0) return experiment.warmup();
  // At and beyond saturation the network has no stationary state to wait for.
  const double use = UseOf(point, point.worst_carried_link);
  return WarmupAt(point, use < 1 ? std::max(1 - use, kLeastIdle) : 0.3);
}

double DurationOf(const v1::Experiment& experiment, const PacketPoint& point) {
  const double needed = static_cast<double>(experiment.packets()) /
                        (point.lambda() * static_cast<double>(point.rows()));
  return std::max(needed, 5 * WarmupOf(experiment, point));
}

absl::Status CheckEffort(const v1::Experiment& experiment, const std::vector<PacketPoint>& points) {
  constexpr double kLongest = 9e7;      // units of time, with the warm-up
  constexpr double kMostHops = 1e13;    // a day at a hundred million a second
  constexpr double kMostWaiting = 2e8;  // packets, about 6 GB
  double hops = 0;
  for (const PacketPoint& point : points) {
    const double time = WarmupOf(experiment, point) + DurationOf(experiment, point);
    if (time > kLongest) {
      return absl::InvalidArgumentError(absl::StrCat(
          "packets and warmup: ", point.ToString(), " takes ", time,
          " units of time (allowed: up to 9e7); fewer packets, a shorter warmup, or more rows"));
    }
    const double use = MostUse(point);
    if (const double left = (1 - 1 / use) * 2 * time * point.lambda() * point.rows();
        use > 1 && left > kMostWaiting) {
      return absl::InvalidArgumentError(absl::StrCat(
          point.pattern.empty() ? "rho: " : "load: ", point.ToString(),
          " is beyond what the network carries, and about ", left,
          " packets would wait at the end (allowed: up to 2e8); measure fewer packets"));
    }
    if (experiment.clock() != v1::Experiment::WALL) {
      if (absl::Status status = CheckEngine(experiment, point); !status.ok()) return status;
    }
    hops += HopsOf(experiment, point) * experiment.seeds_size();
  }
  if (hops > kMostHops) {
    return absl::InvalidArgumentError(
        absl::StrCat("packets: all points and seeds take about ", hops,
                     " hops, which does not end within days (allowed: up to 1e13); sweep fewer "
                     "values, or measure fewer packets"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Trial> RunTrial(const v1::Experiment& experiment, const PacketPoint& point,
                               uint64_t seed) {
  const absl::StatusOr<Network> network = Network::Make(point.network_spec(seed));
  if (!network.ok()) return network.status();
  absl::StatusOr<dataplane::VirtualConfig> config = ConfigOf(experiment, point, seed);
  if (!config.ok()) return config.status();
  FaultSet faults(*network);
  if (point.faults.value_or(0) > 0) {
    if (absl::Status status = AddFaultySwitches(*point.faults, seed, &faults); !status.ok()) {
      return status;
    }
    config->faults = &faults;
  }
  if (point.in_rounds) {
    constexpr uint64_t kFullRounds = 600;
    const auto rounds = dataplane::RunRounds(*network, *config, kFullRounds);
    if (!rounds.ok()) return rounds.status();
    Trial trial = TrialOf(rounds->run, point, seed);
    trial.figures["full_round"] = rounds->full_round;
    trial.figures["mean_round"] = rounds->mean_round;
    return trial;
  }
  const absl::StatusOr<dataplane::VirtualResult> run = dataplane::RunVirtual(*network, *config);
  if (!run.ok()) return run.status();
  if (run->injected == 0 && run->left_out > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "faulty_switches: with seed ", seed, " the ", *point.faults, " faulty switches of ",
        point.ToString(), " leave no packet a path; use fewer, or more links a direction"));
  }
  Trial trial = TrialOf(*run, point, seed);
  if (point.faults.has_value()) {
    trial.figures["left_out"] =
        static_cast<double>(run->left_out) /
        static_cast<double>(std::max<uint64_t>(1, run->left_out + run->injected));
  }
  if (absl::Status status = AddLinkUse(*network, run->link_packets, config->duration, point, trial);
      !status.ok()) {
    return status;
  }
  if (experiment.coupled() && HasCoupledPath(point).empty()) {
    if (absl::Status status =
            AddCoupled(*network, point, static_cast<double>(experiment.packets()), seed, trial);
        !status.ok()) {
      return status;
    }
  }
  return trial;
}

}  // namespace bfly::control
