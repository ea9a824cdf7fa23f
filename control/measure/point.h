// SPDX-License-Identifier: Apache-2.0
// The points of a sweep and what was measured at them, as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "dataplane/virtual_clock/discipline.h"
#include "topologies/network.h"
#include "topologies/permutation.h"

namespace bfly::control {

// One combination of the swept values.
struct Point {
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
  // The same without the load: points of one curve have it in common.
  std::string Curve() const;
  double swept_load() const { return pattern.empty() ? rho : load; }
};

// "fifo", "processor_sharing" or "priority", as in the file.
std::string DisciplineName(dataplane::Discipline discipline);

// Time at the links of one stage, in units.
struct StageTime {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
};

// One run of one point with one seed.
struct Trial {
  uint64_t seed = 0;
  double offered = 0;   // packets per unit and row, born in the measured time
  double accepted = 0;  // delivered in it
  double mean_delay = 0;
  double p50 = 0;
  double p99 = 0;
  double mean_population = 0;       // packets in the network
  double straight_utilisation = 0;  // mean over the links of that kind, packets per unit
  double cross_utilisation = 0;
  uint64_t measured = 0;             // packets
  uint64_t unfinished = 0;           // born in the measured time and never delivered
  std::vector<double> batch_delays;  // means of consecutive parts of the measured time
  std::vector<StageTime> stages = {};
  // What only some claims ask for, such as "cross_holds_2": the share of time a cross link holds
  // two packets.
  std::map<std::string, double> figures = {};
  // Of circuit protocols: the seconds this machine took to choose the paths. Never compared, and in
  // no results.json.
  double set_up_seconds = 0;

  // NaN where the trial did not measure it.
  double figure(const std::string& name) const;
};

// All points of an experiment, in the order d, p, rho, slot, discipline. InvalidArgument where a
// combination cannot be: p = 0 on the hypercube, a slot whose inverse is no whole number, a network
// that is not levelled, values of which one excludes the other, nothing that is swept.
absl::StatusOr<std::vector<Point>> PointsOf(const v1::Experiment& experiment);

// The permutation that a point's pattern is; not for uniform. InvalidArgument if there is no such
// pattern.
absl::StatusOr<Permutation> PermutationOf(const Point& point, uint64_t seed);

// Shares of the time that links were busy, from what left by each: `link_packets` by network link
// index, over `time` units of the measured time. Means go to the trial's utilisations; the shares
// of the links that were busy most and least, and the time, to its figures straight_busiest,
// straight_idlest, cross_busiest, cross_idlest and link_time.
void AddUtilisation(const Network& network, const std::vector<uint64_t>& link_packets, double time,
                    Trial& trial);

// Units of time that are not measured, and that are, for a point: the experiment's warmup, or the
// rule in its schema; then as long as `packets` need, and at least five warm-ups.
double WarmupOf(const v1::Experiment& experiment, const Point& point);
double DurationOf(const v1::Experiment& experiment, const Point& point);

// InvalidArgument where a point would take more time or memory than anybody waits for or has.
absl::Status CheckEffort(const v1::Experiment& experiment, const std::vector<Point>& points);

// Runs one trial under the virtual clock. The trial of the experiment's first seed also measures
// every stage, if that takes no more than about a minute.
absl::StatusOr<Trial> RunTrial(const v1::Experiment& experiment, const Point& point, uint64_t seed);

// The largest number of packets of a pattern over one link, if every row sends one; uniform: the
// mean. InvalidArgument if there is no such pattern.
absl::StatusOr<double> WorstLink(const Point& point, uint64_t seed);

}  // namespace bfly::control
