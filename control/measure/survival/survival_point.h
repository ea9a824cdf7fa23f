// SPDX-License-Identifier: Apache-2.0
// Points of an experiment about faults, and how one trial of a point is run.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/survival_experiment.pb.h"
#include "control/measure/core/measurement.h"
#include "topologies/network.h"

namespace bfly::control {

struct SurvivalPoint {
  std::string faults;  // "links", "nodes", "adversary" or "listed"
  NetworkKind network = NetworkKind::kButterfly;
  int d = 0;             // 2^d rows
  int multiplicity = 1;  // the multiplicity of a dilated butterfly or a multibutterfly
  double rate = 0;       // links, nodes
  uint32_t count = 0;    // adversary
  bool lists = false;    // the experiment lists faults besides

  uint32_t rows() const { return uint32_t{1} << d; }
  // Whether every pair of input and output has only one path, apart from parallel links.
  bool has_single_paths() const;
  std::string Curve() const;     // "links butterfly rate=0.02"
  std::string ToString() const;  // "links butterfly rate=0.02 d=6"
  nlohmann::ordered_json ToJson() const;
  std::string ToCsv() const;  // "faults,network,d,multiplicity,rate,count"
};

// The shortest text from which the rate can be read again: "0.02".
std::string RateText(double rate);

// Returns all points, in the order faults, network, rate, count, d. InvalidArgument names the key
// of an impossible value.
absl::StatusOr<std::vector<SurvivalPoint>> SurvivalPointsOf(
    const v1::SurvivalExperiment& experiment);

// Draws the faults once. Trial::figures gets the results:
//   survival           the fraction of the n^2 pairs of rows that still have a path
//   two_path_survival  links on BB_n: the fraction of the n requests of a random permutation of
//                      which one of the two random paths is whole
//   cut_off_outputs    outputs that no input has a path to
//   down               links and nodes that are down by themselves
//   faulty_switches    switches that are not down and count as faulty
absl::StatusOr<Trial> RunSurvivalTrial(const SurvivalPoint& point, const v1::Faults& list,
                                       uint64_t seed);

}  // namespace bfly::control
