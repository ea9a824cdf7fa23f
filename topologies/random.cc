// SPDX-License-Identifier: Apache-2.0
#include "topologies/random.h"

#include <numeric>
#include <utility>

namespace bfly {

std::vector<uint32_t> RandomPermutation(uint64_t seed, RandomStream stream, uint32_t n,
                                        uint64_t first_counter) {
  std::vector<uint32_t> values(n);
  std::iota(values.begin(), values.end(), 0u);
  for (uint32_t i = n; i-- > 1;) {
    std::swap(values[i], values[RandomBelow(seed, stream, first_counter + i, i + 1)]);
  }
  return values;
}

}  // namespace bfly
