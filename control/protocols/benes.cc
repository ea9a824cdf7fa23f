// SPDX-License-Identifier: Apache-2.0
// Off-line routing on the Benes network by the looping algorithm (Waksman 1968; THEORY.md 2.8): any
// permutation with one circuit a link, in O(n log n).
#include <utility>

#include "control/protocols/protocols.h"

namespace bfly::control {
namespace {

// Sends the two messages of every input pair of position k, and those of every output pair, to
// different halves: side[row] is the half of the message in `row`. The pairs form cycles input pair
// - output pair - input pair ...; each cycle is walked once and its messages alternate.
void SplitByPosition(const std::vector<Row>& target, const std::vector<Row>& source_of, Row mask,
                     std::vector<uint8_t>& side) {
  constexpr uint8_t kUnset = 2;
  side.assign(target.size(), kUnset);
  for (Row start = 0; start < target.size(); ++start) {
    for (Row row = start; side[row] == kUnset;) {
      side[row] = 0;
      const Row shares_output = source_of[target[row] ^ mask];
      side[shares_output] = 1;
      row = shares_output ^ mask;
    }
  }
}

// The row at the middle level of the message of each input. All paths are node-disjoint.
std::vector<Row> LoopingMiddleRows(const Network& network, const Permutation& permutation) {
  const Row rows = network.rows();
  // After position k is dealt with, the message in a row has the row's first k positions at levels
  // k..2d-k.
  std::vector<Row> target = permutation;
  std::vector<Row> source_of(rows), input_of(rows);
  for (Row row = 0; row < rows; ++row) {
    input_of[row] = row;
    source_of[target[row]] = row;
  }
  std::vector<uint8_t> side;
  for (int position = 1; position <= network.dimension(); ++position) {
    const Row mask = MaskOfPosition(position, network.dimension());
    SplitByPosition(target, source_of, mask, side);
    for (Row row = 0; row < rows; ++row) {
      if ((row & mask) == 0 && side[row] == 1) {
        std::swap(target[row], target[row | mask]);
        std::swap(input_of[row], input_of[row | mask]);
      }
    }
    for (Row row = 0; row < rows; ++row) {
      target[row] = (target[row] & ~mask) | (row & mask);
      source_of[target[row]] = row;
    }
  }
  std::vector<Row> middle(rows);
  for (Row row = 0; row < rows; ++row) middle[input_of[row]] = row;
  return middle;
}

// The requests, and rows that nobody asked for joined in order.
Permutation Completed(const std::vector<Request>& requests, Row rows) {
  constexpr Row kNone = ~Row{0};
  Permutation permutation(rows, kNone);
  std::vector<bool> output_used(rows);
  for (const Request& request : requests) {
    permutation[request.input] = request.output;
    output_used[request.output] = true;
  }
  Row free_output = 0;
  for (Row& output : permutation) {
    if (output != kNone) continue;
    while (output_used[free_output]) ++free_output;
    output = free_output++;
  }
  return permutation;
}

// Nothing is asked of the network: the paths are computed with global knowledge, then one packet a
// request reserves its path.
absl::StatusOr<RouteResult> RouteBenes(const Network& network, const LinkLoad* standing,
                                       const std::vector<Request>& requests,
                                       const ProtocolOptions&) {
  const std::vector<Row> middle = LoopingMiddleRows(network, Completed(requests, network.rows()));
  RouteResult result;
  result.rounds = 1;
  result.messages = requests.size();
  result.paths.reserve(requests.size());
  for (const auto& [input, output] : requests) {
    result.paths.push_back(
        {input, output, TagThrough(network, middle[input], output), PathChoice::kLooping});
  }
  MeasureCongestion(network, standing, result);
  return result;
}

}  // namespace

const Protocol kBenes = {
    .name = "benes",
    .help = "the looping algorithm: any permutation with one circuit a link, computed off line",
    .defined_on = [](NetworkKind kind) { return kind == NetworkKind::kBenes; },
    .make_chooser = nullptr,
    .route = RouteBenes,
};

}  // namespace bfly::control
