// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/destination.h"

#include <cmath>
#include <utility>

namespace bfly::dataplane {

static_assert(kMaxRows <= Row{1} << 20, "an arrival has 20 random bits for its destination");

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

void DestinationPattern::Draw(Row origin, uint64_t seed, uint64_t counter,
                              uint64_t choice[kArrivalBatch]) const {
  if (uniform_mask_ != 0) {
    for (int i = 0; i < kArrivalBatch; ++i) choice[i] = origin ^ (choice[i] & uniform_mask_);
  } else if (!fixed_.empty()) {
    for (int i = 0; i < kArrivalBatch; ++i) choice[i] = fixed_[origin];
  } else {
    DrawFlips(seed, counter, dimension_, threshold_, choice);
    for (int i = 0; i < kArrivalBatch; ++i) choice[i] ^= origin;
  }
}

}  // namespace bfly::dataplane
