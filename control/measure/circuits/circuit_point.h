// SPDX-License-Identifier: Apache-2.0
// Points of an experiment about circuit protocols, and how one trial of a point is run.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuit_experiment.pb.h"
#include "control/measure/core/measurement.h"
#include "topologies/network.h"

namespace bfly::control {

struct CircuitPoint {
  std::string protocol;
  NetworkKind network = NetworkKind::kTwoFoldButterfly;  // the network that the protocol runs on
  int d = 0;                                             // 2^d rows
  std::string permutation = {};                          // empty: the protocol draws its own
  uint32_t c = 0;          // paths a link may have; 0: the protocol has no such threshold
  uint32_t c_disk = 0;     // paths a disk may have; 0: as above
  uint32_t q = 0;          // circuits a link carries; 0: as above
  bool c_follows = false;  // c follows from n, so it does not distinguish curves
  // Whether the experiment names networks. Otherwise a protocol runs where its paper has it.
  bool names_network = false;
  int multiplicity = 1;  // links of a direction
  std::optional<ParallelEdges> parallel_edges = {};

  // Whether `network` is the network on which the paper runs the protocol, and about which its
  // claims are.
  bool is_on_own_network() const;
  // "multibutterfly x2", or nothing if the experiment names no networks.
  std::string NetworkText() const;
  NetworkSpec network_spec(uint64_t seed) const {
    return {.kind = network,
            .rows = rows(),
            .seed = seed,
            .multiplicity = multiplicity,
            .parallel_edges = parallel_edges};
  }

  uint32_t rows() const { return uint32_t{1} << d; }
  bool is_data_server() const;
  std::string Curve() const;     // "collision random c=4": points that differ in d alone
  std::string ToString() const;  // "collision random c=4 d=6"
  nlohmann::ordered_json ToJson() const;
  std::string ToCsv() const;  // the columns of CircuitCsvColumns
};

// The columns of CircuitPoint::ToCsv in this experiment.
std::string CircuitCsvColumns(const v1::CircuitExperiment& experiment);

// Returns all points, in the order protocol, network, multiplicity, permutation, c, c_disk, q, d. A
// protocol is not swept over settings that it does not have. InvalidArgument names the key of an
// impossible value.
absl::StatusOr<std::vector<CircuitPoint>> CircuitPointsOf(const v1::CircuitExperiment& experiment);

// The seeds with which a point of this d is run: all, or the first ones if seed_limits says so.
std::vector<uint64_t> SeedsAt(const v1::CircuitExperiment& experiment, int d);

// True if the experiment gives c. Otherwise c follows from n and does not distinguish curves.
bool GivesThreshold(const v1::CircuitExperiment& experiment);

// Chooses the paths of all requests once. The seed decides the network's random switches or wiring,
// the permutation, the placement and the protocol's choices. Trial::figures gets the results:
//   congestion, dilation, rounds, messages (as RouteResult has them)
//   steps           set-up time in the model (SetUpSteps)
//   left            requests that the protocol had no path for
//   refused         disjoint: 1 if it set nothing up and said why, otherwise 0. A refused trial
//                   has no other figure
//   disk_contention most paths that end at one disk
//   locked          lock_down: the fraction of the n requests that got through
//   candidate_mean_error, candidate_random_load
//                   collision: the largest distance from 1 of a collision transition's mean load by
//                   all candidate paths; the most of them on a link outside those transitions
//   candidate_congestion
//                   collision: most candidate paths on a link of the collision transitions
//   first_copy_congestion
//                   ranade_flip: most paths on a link of the first butterfly
//   candidates_C    collision: links of the collision transitions that at least C = 8, 9, 10
//                   candidate paths cross
absl::StatusOr<Trial> RunCircuitTrial(const CircuitPoint& point, uint64_t seed);

}  // namespace bfly::control
