// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "control/measure/circuits/circuit_point.h"
#include "control/protocols/data_server.h"
#include "control/protocols/protocol.h"
#include "control/protocols/q_limited.h"
#include "control/protocols/set_up_steps.h"
#include "topologies/permutation.h"
#include "topologies/tag.h"

namespace bfly::control {
namespace {

constexpr char kDisjointPaths[] = "disjoint";  // the protocol

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void AddRoute(const Network& network, const RouteResult& route, Trial& trial) {
  trial.figures["congestion"] = route.congestion;
  trial.figures["dilation"] = route.dilation;
  trial.figures["rounds"] = route.rounds;
  trial.figures["messages"] = static_cast<double>(route.messages);
  trial.figures["left"] = static_cast<double>(route.requests_left.size());
  trial.figures["steps"] = static_cast<double>(SetUpSteps(network, route));
}

// Counts how many of the 2n candidate paths cross each link (Cole et al. 1998, section 2.2 and
// Lemma 2.4).
void AddCandidates(const Network& network, const std::vector<Request>& requests,
                   const RouteResult& route, Trial& trial) {
  std::vector<uint16_t> load(network.link_count());
  for (size_t i = 0; i < route.buddies.size(); ++i) {
    for (const Tag tag : route.buddies[i]) {
      ForEachLink(network, requests[i].input, tag, [&](uint64_t link) { ++load[link]; });
    }
  }
  const int d = network.dimension(), h = d / 2;
  const uint64_t width = 2 * uint64_t{network.rows()};
  double error = 0, elsewhere = 0;
  uint16_t fullest = 0;
  std::array<uint64_t, 3> full{};  // links with at least 8, 9, 10 paths
  for (int stage = 0; stage < network.stages(); ++stage) {
    const auto begin =
        load.begin() + static_cast<std::ptrdiff_t>(network.link_index({stage, 0, 0}));
    if (stage < h || stage >= d + h) {
      elsewhere = std::max<double>(elsewhere, *std::max_element(begin, begin + width));
      continue;
    }
    fullest = std::max(fullest, *std::max_element(begin, begin + width));
    double sum = 0;
    for (auto link = begin; link != begin + width; ++link) {
      sum += *link;
      for (uint32_t k = 0; k < full.size(); ++k) full[k] += *link >= 8 + k;
    }
    error = std::max(error, std::fabs(sum / static_cast<double>(width) - 1));
  }
  trial.figures["candidate_mean_error"] = error;
  trial.figures["candidate_random_load"] = elsewhere;
  trial.figures["candidate_congestion"] = fullest;
  for (uint32_t k = 0; k < full.size(); ++k) {
    trial.figures[absl::StrCat("candidates_", 8 + k)] = static_cast<double>(full[k]);
  }
}

absl::StatusOr<DataServerResult> RouteDataServer(const Network& network, const CircuitPoint& point,
                                                 uint64_t seed) {
  std::vector<Row> users(network.rows());
  for (Row row = 0; row < network.rows(); ++row) users[row] = row;
  if (point.protocol == "data_server_single_copy") {
    return RouteDataServerSingleCopy(network, users,
                                     PlaceInOneCopy(network.rows(), network.rows(), seed));
  }
  const std::vector<Copies> copies = PlaceInTwoCopies(network.rows(), network.rows(), seed);
  std::vector<DataServerRequest> requests(network.rows());
  for (Row row = 0; row < network.rows(); ++row) requests[row] = {row, copies[row]};
  if (point.protocol == "data_server_minimum") return RouteDataServerMinimum(network, requests);
  return RouteDataServerCollision(network, requests, {.c = point.c, .c_disk = point.c_disk});
}

}  // namespace

absl::StatusOr<Trial> RunCircuitTrial(const CircuitPoint& point, uint64_t seed) {
  const absl::StatusOr<Network> network = Network::Make(point.network_spec(seed));
  if (!network.ok()) return network.status();
  Trial trial{.seed = seed, .batch_delays = {}};
  if (point.protocol == "lock_down") {
    const Stopwatch watch;
    trial.figures["locked"] = static_cast<double>(LockDownUniform(*network, point.q, seed)) /
                              static_cast<double>(point.rows());
    trial.set_up_seconds = watch.seconds();
    return trial;
  }
  if (point.is_data_server()) {
    const Stopwatch watch;
    const absl::StatusOr<DataServerResult> result = RouteDataServer(*network, point, seed);
    trial.set_up_seconds = watch.seconds();
    if (!result.ok()) return result.status();
    AddRoute(*network, result->route, trial);
    trial.figures["disk_contention"] = result->disk_contention;
    return trial;
  }
  const absl::StatusOr<Permutation> permutation =
      PermutationByName(point.permutation, point.rows(), seed);
  if (!permutation.ok()) return permutation.status();
  std::vector<Request> requests(point.rows());
  for (Row row = 0; row < point.rows(); ++row) requests[row] = {row, (*permutation)[row]};
  const LinkLoad nothing(*network);
  const Stopwatch watch;
  const absl::StatusOr<RouteResult> route = RoutePermutation(
      point.protocol, nothing, requests, {.seed = seed, .c = point.c, .q = point.q});
  trial.set_up_seconds = watch.seconds();
  if (point.protocol == kDisjointPaths) {
    trial.figures["refused"] = route.ok() ? 0 : 1;
    if (absl::IsResourceExhausted(route.status())) return trial;
  }
  if (!route.ok()) return route.status();
  AddRoute(*network, *route, trial);
  if (point.protocol == "collision" && point.is_on_own_network())
    AddCandidates(*network, requests, *route, trial);
  if (point.protocol == "ranade_flip") {
    const auto& stages = route->stage_congestion;
    trial.figures["first_copy_congestion"] =
        *std::max_element(stages.begin(), stages.begin() + point.d);
  }
  if (point.protocol == "q_limited") {
    trial.figures["locked"] = static_cast<double>(route->paths.size()) / point.rows();
  }
  return trial;
}

}  // namespace bfly::control
