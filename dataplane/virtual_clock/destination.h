// SPDX-License-Identifier: Apache-2.0
// Where virtual packets go: a destination row as a pure function of origin, seed and packet number.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/virtual_clock/arrival_batch.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class DestinationPattern {
 public:
  // Flips every bit of the origin independently with probability p, 0 <= p <= 1, to a precision of
  // 2^-32: Pr[z|x] = p^H (1-p)^(d-H), H the Hamming distance (Stamoulis & Tsitsiklis, section 1.1).
  // p = 1/2 is uniform over all rows, the origin included.
  static DestinationPattern Flip(int dimension, double p);
  // Origin r always sends to destinations[r].
  static DestinationPattern Fixed(std::vector<Row> destinations);

  // Replaces the random bits `choice` of eight packets by their destinations. `counter` is the
  // number of the first packet, unique over all rows.
  void Draw(Row origin, uint64_t seed, uint64_t counter, uint64_t choice[kArrivalBatch]) const;

  // Not 0 if all destinations are equally likely: then the destination is the origin with the bits
  // of `choice` under this mask flipped.
  Row uniform_mask() const { return uniform_mask_; }

 private:
  Row uniform_mask_ = 0;  // p = 1/2: the bits to flip are fair bits under this mask
  int dimension_ = 0;
  uint64_t threshold_ = 0;  // p * 2^32: a bit is flipped if a random word is below it
  std::vector<Row> fixed_;
};

}  // namespace bfly::dataplane
