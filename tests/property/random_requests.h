// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "control/protocols/protocol.h"
#include "topologies/random.h"

namespace bfly::control {

// One request for each input row. Their outputs are a random permutation.
inline std::vector<Request> RandomRequests(uint32_t rows, uint64_t seed) {
  const std::vector<uint32_t> outputs = RandomPermutation(seed, RandomStream::kTest, rows);
  std::vector<Request> requests;
  for (Row input = 0; input < rows; ++input) requests.push_back({input, outputs[input]});
  return requests;
}

}  // namespace bfly::control
