// SPDX-License-Identifier: Apache-2.0
// Points of an experiment about packets that cross the network by themselves, and their trials
// under the virtual clock.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/core/measurement.h"
#include "dataplane/links/discipline.h"
#include "dataplane/virtual_clock/job.h"
#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly::control {

// One combination of the swept values.
struct PacketPoint {
  NetworkKind network = NetworkKind::kButterfly;
  int d = 0;        // 2^d rows
  double p = 0.5;   // probability that a destination bit differs from the origin's
  double rho = 0;   // load factor
  double slot = 0;  // 0: continuous time
  dataplane::Discipline discipline = dataplane::Discipline::kFifo;
  std::vector<double> class_shares = {};  // kPriority: the classes' shares, the most urgent first
  bool in_rounds = false;                 // the scheme of Valiant and Brebner
  std::string pattern = {};               // replaces p and rho; empty: p-flips
  double load = 0;                        // with a pattern: packets per unit of time and row
  dataplane::LinkModel links = dataplane::LinkModel::kEdge;
  bool bernoulli = false;  // true: a slot has one packet or no packet
  int multiplicity = 1;    // links of a direction: dilated butterflies and multibutterflies
  std::optional<PortRule> rule = {};
  std::optional<ParallelEdges> parallel_edges = {};  // parallel edges of a multibutterfly
  // Random stages before those of a butterfly; none where the experiment does not sweep them.
  std::optional<uint32_t> extra_stages = {};
  // Faulty switches, drawn by the trial's seed; none where the experiment does not sweep them.
  std::optional<uint32_t> faults = {};
  bool names_network = false;  // the experiment has several networks: texts name the point's
  double warmup = 0;           // the experiment's, units of time; 0: the rule of WarmupOf
  // With a pattern, of the experiment's seeds, which may have permutations or wirings of their own:
  // the largest WorstLink, and the largest one that is offered less than a packet a unit. If none
  // is offered less, both are the same.
  double worst_link = 0;
  double worst_carried_link = 0;

  // Packets per unit of time and input row: rho / p on the hypercube, rho / max(p, 1-p) elsewhere
  // (Stamoulis & Tsitsiklis, sections 1.1 and 4.2), times the multiplicity, or `load`.
  double lambda() const;
  uint32_t rows() const { return uint32_t{1} << d; }
  NetworkSpec network_spec(uint64_t seed) const {
    return {.kind = network,
            .rows = rows(),
            .seed = seed,
            .multiplicity = multiplicity,
            .rule = rule,
            .extra_stages = static_cast<int>(extra_stages.value_or(0)),
            .parallel_edges = parallel_edges};
  }
  // Whether packets cross two butterflies.
  bool has_two_copies() const {
    return network == NetworkKind::kTwoFoldButterfly || network == NetworkKind::kBenes;
  }
  // The stages of the network.
  int depth() const {
    return has_two_copies() ? 2 * d : d + static_cast<int>(extra_stages.value_or(0));
  }
  // Whether some link carries lambda() under p-flips and uniform traffic: a link that two nodes
  // share, or a straight link of the first of two copies, through which packets go straight.
  bool some_link_carries_lambda() const {
    return links == dataplane::LinkModel::kSwitchOutput || has_two_copies();
  }
  // "multibutterfly, 8 faults": what tells points of different networks apart. Empty for an
  // experiment with one network, without extra stages and faults.
  std::string NetworkText() const;
  std::string ToString() const;  // "d=4 p=0.5 rho=0.9"
  nlohmann::ordered_json ToJson() const;
  // "d,p,rho,slot,lambda,discipline", or d,pattern,load,...; behind it
  // ",network,multiplicity,extra_stages,faulty_switches" where NetworkText has a word.
  std::string ToCsv() const;
  // ToString without the load; all points of a curve share it.
  std::string Curve() const;
  double swept_load() const { return pattern.empty() ? rho : load; }
};

// "fifo", "processor_sharing" or "priority", as in the file.
std::string DisciplineName(dataplane::Discipline discipline);

// Returns all points of an experiment, in the order network, extra stages, faults, d, p, rho, slot,
// discipline. InvalidArgument: a combination is impossible (p = 0 on the hypercube, a slot whose
// inverse is not a whole number, a network that is not levelled, keys that exclude each other),
// nothing is swept, there are too many trials, or `coupled` is about no point.
absl::StatusOr<std::vector<PacketPoint>> PointsOf(const v1::Experiment& experiment);

// The permutation that the point's pattern stands for; not for uniform. InvalidArgument: there is
// no such pattern.
absl::StatusOr<Permutation> PermutationOf(const PacketPoint& point, uint64_t seed);

// Computes the share of the time that links were busy from the packets that left by each.
// `link_packets` counts them by network link index over `time` units of the measured time. The
// means go to the trial's utilisations. The shares of the busiest and the idlest link, and the
// time, go to the figures straight_busiest, straight_idlest, cross_busiest, cross_idlest and
// link_time. A link that two nodes share (links: switch_output) is neither straight nor cross: the
// shares of the busiest and the idlest one go to link_busiest and link_idlest, and the utilisations
// stay 0. A point with a pattern also gets WorstLink as worst_link if KnowsWorstLink.
absl::Status AddLinkUse(const Network& network, const std::vector<uint64_t>& link_packets,
                        double time, const PacketPoint& point, Trial& trial);

// The part of the capacity of the busiest link that is offered to it; 1 is saturation. With a
// pattern, `worst_link` is that of the point or of a trial. Of the scheme in rounds, of which no
// exact value is known: the load as a part of 1 / (2 d).
double UseOf(const PacketPoint& point, double worst_link);
// Whether the busiest link is offered less than a packet a unit, but so nearly one that its queue
// still grows after the warm-up. Not in rounds. `use`: UseOf.
bool StillFills(const PacketPoint& point, double use);

// Units of time of a point that are not measured, and that are. The warm-up is the experiment's, or
// follows the rule in its schema. It is the same for all seeds: that of the largest use below 1, if
// a seed has one. The measured time is as long as `packets` need, and at least five warm-ups. A
// point with a pattern must come from PointsOf, which sets its worst links.
double WarmupOf(const v1::Experiment& experiment, const PacketPoint& point);
double DurationOf(const v1::Experiment& experiment, const PacketPoint& point);

// InvalidArgument: a point would take too much time or memory, or passes a limit of the virtual
// clock.
absl::Status CheckEffort(const v1::Experiment& experiment, const std::vector<PacketPoint>& points);

// Runs one trial under the virtual clock. The trial of the experiment's first seed also measures
// every stage, if that takes no more than about a minute. A point with faults gets the figure
// left_out: the part of the packets that is not sent, because their input counts as faulty or no
// input reaches their output. A class of which no packet was measured has no figure class_delay_i.
// FailedPrecondition: no packet is sent.
absl::StatusOr<Trial> RunTrial(const v1::Experiment& experiment, const PacketPoint& point,
                               uint64_t seed);

// The largest mean number of packets of a pattern over one link if every row sends one packet,
// where the links of a direction get equal parts of what every input sends in it, and extra stages
// are crossed in all ways alike. Faults are ignored. InvalidArgument: there is no such pattern, or
// counting would take too long.
absl::StatusOr<double> WorstLink(const PacketPoint& point, uint64_t seed);
// Whether the load and WorstLink decide if the network is stable. They do not on a network with
// faults, or under the rule `first_free`, which overloads the first link of a direction. Under
// `least_occupied` a link that is offered little may carry another load than WorstLink says, but
// none is overloaded before the others of its direction. On a multibutterfly with several links a
// direction they decide under the rule `random`, and under `round_robin` for the uniform pattern,
// whose packets turn either way whatever link they came by.
bool KnowsWorstLink(const PacketPoint& point);

}  // namespace bfly::control
