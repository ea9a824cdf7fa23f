// SPDX-License-Identifier: Apache-2.0
// Points of an experiment about packets that cross the network by themselves, and their trials
// under the virtual clock.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "control/measure/core/measurement.h"
#include "dataplane/virtual_clock/discipline.h"
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
  std::vector<double> class_shares = {};  // of kPriority, the most urgent first
  bool in_rounds = false;                 // the scheme of Valiant and Brebner
  std::string pattern = {};               // in place of p and rho; empty: p-flips
  double load = 0;                        // with it: packets per unit of time and row
  dataplane::LinkModel links = dataplane::LinkModel::kEdge;
  bool bernoulli = false;  // one packet in a slot or none

  // Packets per unit of time and input row: rho / p on the hypercube, rho / max(p, 1-p) elsewhere
  // (Stamoulis & Tsitsiklis, sections 1.1 and 4.2), or `load`.
  double lambda() const;
  uint32_t rows() const { return uint32_t{1} << d; }
  std::string ToString() const;  // "d=4 p=0.5 rho=0.9"
  nlohmann::ordered_json ToJson() const;
  std::string ToCsv() const;  // "d,p,rho,slot,lambda,discipline", or d,pattern,load,...
  // The same without the load: points of one curve have it in common.
  std::string Curve() const;
  double swept_load() const { return pattern.empty() ? rho : load; }
};

// "fifo", "processor_sharing" or "priority", as in the file.
std::string DisciplineName(dataplane::Discipline discipline);

// All points of an experiment, in the order d, p, rho, slot, discipline. InvalidArgument where a
// combination cannot be: p = 0 on the hypercube, a slot whose inverse is no whole number, a network
// that is not levelled, values of which one excludes the other, nothing that is swept.
absl::StatusOr<std::vector<PacketPoint>> PointsOf(const v1::Experiment& experiment);

// The permutation that a point's pattern is; not for uniform. InvalidArgument if there is no such
// pattern.
absl::StatusOr<Permutation> PermutationOf(const PacketPoint& point, uint64_t seed);

// Shares of the time that links were busy, from what left by each: `link_packets` by network link
// index, over `time` units of the measured time. Means go to the trial's utilisations; the shares
// of the links that were busy most and least, and the time, to its figures straight_busiest,
// straight_idlest, cross_busiest, cross_idlest and link_time; of a pattern, WorstLink to
// worst_link.
absl::Status AddLinkUse(const Network& network, const std::vector<uint64_t>& link_packets,
                        double time, const PacketPoint& point, Trial& trial);

// Units of time that are not measured, and that are, for a point: the experiment's warmup, or the
// rule in its schema; then as long as `packets` need, and at least five warm-ups.
double WarmupOf(const v1::Experiment& experiment, const PacketPoint& point);
double DurationOf(const v1::Experiment& experiment, const PacketPoint& point);

// InvalidArgument where a point would take more time or memory than anybody waits for or has.
absl::Status CheckEffort(const v1::Experiment& experiment, const std::vector<PacketPoint>& points);

// Runs one trial under the virtual clock. The trial of the experiment's first seed also measures
// every stage, if that takes no more than about a minute.
absl::StatusOr<Trial> RunTrial(const v1::Experiment& experiment, const PacketPoint& point,
                               uint64_t seed);

// The largest number of packets of a pattern over one link, if every row sends one; uniform: the
// mean. InvalidArgument if there is no such pattern.
absl::StatusOr<double> WorstLink(const PacketPoint& point, uint64_t seed);

}  // namespace bfly::control
