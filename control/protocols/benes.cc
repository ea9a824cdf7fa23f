// SPDX-License-Identifier: Apache-2.0
// Off-line routing on the Benes network by the looping algorithm (looping.h). It routes any
// permutation with one circuit a link, in O(n log n). If links are faulty, one of the n solutions
// that follow from the algorithm's solution is chosen (benes_faults.h).
#include <algorithm>

#include "control/protocols/benes_faults.h"
#include "control/protocols/looping.h"
#include "control/protocols/part.h"
#include "control/protocols/protocols.h"

namespace bfly::control {
namespace {

// Completes the requests to a permutation: the unused inputs are joined to the unused outputs in
// order.
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

// The network is not asked: the paths are computed with global knowledge, and then one packet a
// request reserves its path.
absl::StatusOr<RouteResult> RouteBenes(const Network& network, const LinkLoad* standing,
                                       const std::vector<Request>& requests,
                                       const ProtocolOptions& options) {
  Crew crew(static_cast<int>(std::max(options.workers, 1u)));
  const std::vector<Row> middle = MiddleRows(Completed(requests, network.rows()), crew);
  const bool faulty = options.faults != nullptr && !options.faults->empty();
  const Row mask = faulty ? MaskAroundFaults(network, requests, middle, *options.faults) : 0;
  RouteResult result;
  result.rounds = 1;
  result.messages = requests.size();
  result.paths.resize(requests.size());
  crew.ForEachPart(requests.size(), kCrewPart, [&](int, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const auto& [input, output] = requests[i];
      result.paths[i] = {input, output, TagThrough(network, middle[input] ^ mask, output),
                         PathChoice::kLooping};
    }
  });
  if (faulty) {
    absl::Status status =
        RerouteBroken(network, standing, *options.faults, options.interrupt, result);
    if (!status.ok()) return status;
  }
  MeasureCongestion(network, standing, crew, result);
  return result;
}

}  // namespace

const Protocol kBenes = {
    .name = "benes",
    .help = "the looping algorithm: any permutation with one circuit a link, computed off line",
    .defined_on = [](NetworkKind kind) { return kind == NetworkKind::kBenes; },
    .make_chooser = nullptr,
    .route = RouteBenes,
    .uses_workers = true,
};

}  // namespace bfly::control
