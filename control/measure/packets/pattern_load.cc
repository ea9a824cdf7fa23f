// SPDX-License-Identifier: Apache-2.0
// What the busiest link of a network gets of a pattern.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/measure/packets/packet_point.h"
#include "topologies/permutation.h"
#include "topologies/tag.h"

namespace bfly::control {
namespace {

using dataplane::LinkModel;

constexpr char kEveryRow[] = "uniform";
constexpr uint64_t kMostSteps = uint64_t{1} << 27;  // a second

// Whether the packets of one input to one output spread over several links of a stage.
bool Spreads(const Network& network) {
  return network.extra_hops() > 0 ||
         (network.kind() == NetworkKind::kMultibutterfly && network.multiplicity() > 1);
}

// Links that packets of one pair may take, over all stages: an estimate from above.
uint64_t LinksOfPair(const Network& network) {
  uint64_t links = 0, rows = 1;
  for (int stage = 0; stage < network.stages(); ++stage) {
    const bool is_extra = stage < network.extra_hops();
    const auto ways = static_cast<uint64_t>(is_extra ? kDirections : network.multiplicity());
    links += rows * ways;
    rows = std::min(rows * ways, uint64_t{network.rows()});
    // A splitter of a multibutterfly has half the rows of the one before.
    if (network.extra_hops() == 0) rows = std::min(rows, uint64_t{network.rows()} >> (stage + 1));
  }
  return links;
}

// Adds to `load` what each link gets of one packet from `input` to `output`. A node sends equal
// parts over the links of a direction, and in extra stages over all of its links. `parts`, one for
// each row, is all 0 before and after.
void AddSpread(const Network& network, Row input, Row output, std::vector<double>& parts,
               std::vector<double>& load) {
  const uint64_t directions = LastDirectionsOf(network, output);
  const int width = network.multiplicity();
  std::vector<Row> rows = {input}, next;
  parts[input] = 1;
  for (int stage = 0; stage < network.stages(); ++stage) {
    int first = 0, ports = network.ports();
    if (stage >= network.extra_hops()) {
      first = static_cast<int>(directions >> (network.stages() - 1 - stage) & 1) * width;
      ports = width;
    }
    std::vector<std::pair<Row, double>> moves;
    for (const Row row : rows) {
      const double part = std::exchange(parts[row], 0) / ports;
      for (int port = first; port < first + ports; ++port) {
        load[network.link_index({stage, row, port})] += part;
        moves.emplace_back(network.next_row(stage, row, port), part);
      }
    }
    next.clear();
    for (const auto& [row, part] : moves) {
      if (parts[row] == 0) next.push_back(row);
      parts[row] += part;
    }
    rows.swap(next);
  }
  for (const Row row : rows) parts[row] = 0;
}

}  // namespace

bool KnowsWorstLink(const PacketPoint& point) {
  if (point.faults.value_or(0) > 0) return false;
  if (point.multiplicity == 1) return true;
  const PortRule rule = point.rule.value_or(kDefaultRule);
  // If no port is free, the rule takes the first one, which gets more than an equal part.
  if (rule == PortRule::kFirstFree) return false;
  // On other networks the links of a direction lead to the same node.
  if (point.network != NetworkKind::kMultibutterfly) return true;
  return rule == PortRule::kRandom || (rule == PortRule::kRoundRobin && point.pattern == kEveryRow);
}

absl::StatusOr<double> WorstLink(const PacketPoint& point, uint64_t seed) {
  const bool shared = point.links == LinkModel::kSwitchOutput;
  if (point.pattern == kEveryRow) {
    return point.some_link_carries_lambda() ? 1 : 0.5 / point.multiplicity;
  }
  const absl::StatusOr<Permutation> permutation = PermutationOf(point, seed);
  if (!permutation.ok()) return permutation.status();
  const absl::StatusOr<Network> network = Network::Make(point.network_spec(seed));
  if (!network.ok()) return network.status();
  std::vector<double> load(network->link_count());
  if (Spreads(*network)) {
    if (LinksOfPair(*network) * network->rows() > kMostSteps) {
      return absl::InvalidArgumentError(absl::StrCat(
          "d: ", point.d, " is too large for pattern ", point.pattern, " on ",
          KindName(point.network), " with ", network->stages(), " stages and ", point.multiplicity,
          " links a direction: counting what each link gets takes too long (allowed: "
          "rows times links that a pair may use up to ",
          kMostSteps, ")"));
    }
    std::vector<double> parts(network->rows());
    for (Row row = 0; row < point.rows(); ++row) {
      AddSpread(*network, row, (*permutation)[row], parts, load);
    }
  } else {
    // Paths take the first port of each direction, and nodes share it out.
    for (Row row = 0; row < point.rows(); ++row) {
      ForEachLink(*network, row, GreedyTag(*network, row, (*permutation)[row]),
                  [&](uint64_t link) { load[link] += 1.0 / point.multiplicity; });
    }
  }
  std::vector<double> of_link(shared ? load.size() : 0);
  for (uint64_t link = 0; link < load.size(); ++link) {
    const LinkId id = network->link_at(link);
    const Row head = network->next_row(id.stage, id.row, id.port);
    if (network->straight_is_free() && head == id.row) load[link] = 0;
    if (shared) of_link[network->link_index({id.stage, head, 0})] += load[link];
  }
  const std::vector<double>& busy = shared ? of_link : load;
  return *std::max_element(busy.begin(), busy.end());
}

}  // namespace bfly::control
