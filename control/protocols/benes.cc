// SPDX-License-Identifier: Apache-2.0
// Off-line routing on the Benes network by the looping algorithm (Waksman 1968; THEORY.md 2.8): any
// permutation with one circuit a link, in O(n log n).
#include <algorithm>
#include <numeric>
#include <utility>

#include "control/protocols/protocols.h"

namespace bfly::control {
namespace {

// The looping algorithm on one sub-network at a time: a block of consecutive rows.
class Looping {
 public:
  explicit Looping(const Permutation& permutation)
      : target_(permutation),
        input_of_(permutation.size()),
        partner_(permutation.size()),
        pair_(permutation.size() / 2),
        side_(permutation.size()) {
    std::iota(input_of_.begin(), input_of_.end(), Row{0});
  }

  // The row at the middle level of the message of each input. All paths are node-disjoint.
  std::vector<Row> MiddleRows() {
    Route(0, static_cast<Row>(target_.size()));
    std::vector<Row> middle(target_.size());
    for (Row row = 0; row < middle.size(); ++row) middle[input_of_[row]] = row;
    return middle;
  }

 private:
  // Gives each half of a block its messages, and goes on in the halves, depth first: from some size
  // on a block with all that is in it stays in the cache.
  void Route(Row first, Row size) {
    if (size < 2) return;
    const Row half = size / 2;
    Split(first, half);
    for (Row row = first; row < first + half; ++row) {
      if (side_[row] == 1) {
        std::swap(target_[row], target_[row + half]);
        std::swap(input_of_[row], input_of_[row + half]);
      }
      target_[row] &= half - 1;
      target_[row + half] &= half - 1;
    }
    Route(first, half);
    Route(first + half, half);
  }

  // Sends the two messages of every input pair, and those of every output pair, to different
  // halves: side_[row] is the half of the message in `row`. The pairs form cycles input pair -
  // output pair - input pair ...; the messages of each alternate. It is walked both ways at once,
  // because a step waits for the one before it.
  void Split(Row first, Row half) {
    constexpr uint8_t kUnset = 2;
    const Row* const target = target_.data() + first;
    Row* const partner = partner_.data() + first;  // who shares the output pair
    uint8_t* const side = side_.data() + first;
    std::fill_n(pair_.begin(), half, Row{0});
    for (Row row = 0; row < 2 * half; ++row) pair_[target[row] & (half - 1)] ^= row;
    for (Row row = 0; row < 2 * half; ++row) partner[row] = pair_[target[row] & (half - 1)] ^ row;
    std::fill_n(side, 2 * half, kUnset);
    for (Row start = 0; start < half; ++start) {
      Row onward = start;
      Row back = start ^ half;
      while (side[onward] == kUnset) {
        side[onward] = 0;
        side[partner[onward]] = 1;
        onward = partner[onward] ^ half;
        if (side[back] != kUnset) break;
        side[back] = 1;
        side[partner[back]] = 0;
        back = partner[back] ^ half;
      }
    }
  }

  std::vector<Row> target_;    // by row: where in its block its message goes to
  std::vector<Row> input_of_;  // by row: where its message came from
  std::vector<Row> partner_, pair_;
  std::vector<uint8_t> side_;
};

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
  const std::vector<Row> middle = Looping(Completed(requests, network.rows())).MiddleRows();
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
