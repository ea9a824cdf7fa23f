// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/destination.h"

#include <cmath>
#include <utility>

namespace bfly::dataplane {

DestinationPattern DestinationPattern::Flip(int dimension, double p) {
  DestinationPattern pattern;
  pattern.dimension_ = dimension;
  if (p == 0.5) pattern.uniform_mask_ = (Row{1} << dimension) - 1;
  pattern.threshold_ = static_cast<uint64_t>(std::ldexp(p, 32));
  return pattern;
}

DestinationPattern DestinationPattern::Fixed(std::vector<Row> destinations) {
  DestinationPattern pattern;
  pattern.fixed_ = std::move(destinations);
  return pattern;
}

Row DestinationPattern::Flips(uint64_t seed, RandomStream stream, uint64_t counter) const {
  Row flips = 0;
  PhiloxBlock block{};
  for (int bit = 0; bit < dimension_; ++bit) {
    // Attempt 0 is the caller's block.
    if (bit % 4 == 0) block = RandomBlock(seed, stream, counter, 1 + bit / 4);
    flips |= static_cast<Row>(block[bit % 4] < threshold_) << bit;
  }
  return flips;
}

}  // namespace bfly::dataplane
