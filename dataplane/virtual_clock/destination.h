// SPDX-License-Identifier: Apache-2.0
// Where virtual packets go: a destination row as a pure function of origin, seed and packet number.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.h"
#include "topologies/random.h"

namespace bfly::dataplane {

class DestinationPattern {
 public:
  // Flips every bit of the origin independently with probability p, 0 <= p <= 1, to a precision of
  // 2^-32: Pr[z|x] = p^H (1-p)^(d-H), H the Hamming distance (Stamoulis & Tsitsiklis, section 1.1).
  // p = 1/2 is uniform over all rows, the origin included.
  static DestinationPattern Flip(int dimension, double p);
  // Origin r always sends to destinations[r].
  static DestinationPattern Fixed(std::vector<Row> destinations);

  // `block` is RandomBlock(seed, stream, counter); words 2 and 3 of it are free for this use.
  Row Draw(Row origin, const PhiloxBlock& block, uint64_t seed, RandomStream stream,
           uint64_t counter) const {
    if (uniform_mask_ != 0) return origin ^ (block[2] & uniform_mask_);
    if (!fixed_.empty()) return fixed_[origin];
    return origin ^ Flips(seed, stream, counter);
  }

 private:
  Row Flips(uint64_t seed, RandomStream stream, uint64_t counter) const;

  Row uniform_mask_ = 0;  // p = 1/2: the bits to flip are 32 fair bits under this mask
  int dimension_ = 0;
  uint64_t threshold_ = 0;  // p * 2^32: a bit is flipped if a random word is below it
  std::vector<Row> fixed_;
};

}  // namespace bfly::dataplane
