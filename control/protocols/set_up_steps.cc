// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/set_up_steps.h"

#include <algorithm>

#include "topologies/pass_steps.h"

namespace bfly::control {

uint64_t SetUpSteps(const Network& network, const RouteResult& result) {
  std::vector<TaggedPath> packets;
  if (result.passes_alone > 0) {
    return uint64_t{result.passes_alone} * result.rounds * static_cast<uint64_t>(network.hops());
  }
  if (result.rounds_asked.empty()) {
    for (const CircuitPath& path : result.paths) packets.push_back({path.input, path.tag});
    return StepsOfPass(network, packets, /*backward=*/false);
  }
  const size_t each = result.candidates.size() / std::max<size_t>(result.rounds_asked.size(), 1);
  uint64_t steps = 0;
  for (uint32_t round = 0; round < result.rounds; ++round) {
    packets.clear();
    for (size_t i = 0; i < result.rounds_asked.size(); ++i) {
      if (result.rounds_asked[i] <= round) continue;
      const Row input = result.paths[i].input;
      if (!result.buddies.empty()) {
        for (const Tag tag : result.buddies[i]) packets.push_back({input, tag});
      }
      for (size_t k = i * each; k < (i + 1) * each; ++k) {
        packets.push_back({input, result.candidates[k]});
      }
    }
    steps += StepsOfPass(network, packets, false) + StepsOfPass(network, packets, true);
  }
  return steps;
}

}  // namespace bfly::control
