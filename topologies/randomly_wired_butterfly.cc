// SPDX-License-Identifier: Apache-2.0
#include "topologies/random.h"
#include "topologies/wiring.h"

namespace bfly {

std::vector<StageWiring> RandomlyWiredButterflyWiring(int dimension, uint64_t seed) {
  std::vector<StageWiring> stages = ButterflyWiring(dimension);
  StageWiring& first = stages.front();
  const Row half = first.mask;  // w_1 = 1; also the number of rows that share one w_1
  first.table.resize(4 * std::size_t{half});
  for (uint32_t side = 0; side < 2; ++side) {
    // sigma_side of the paper.
    const std::vector<uint32_t> sigma =
        RandomPermutation(seed, RandomStream::kRandomWiring, half, uint64_t{side} << 32);
    for (Row rest = 0; rest < half; ++rest) {
      const Row row = side * half + rest;
      first.table[2 * std::size_t{row} + side] = row;
      first.table[2 * std::size_t{row} + 1 - side] = (1 - side) * half + sigma[rest];
    }
  }
  return stages;
}

}  // namespace bfly
