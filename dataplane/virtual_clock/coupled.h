// SPDX-License-Identifier: Apache-2.0
// FIFO and processor sharing on coupled sample paths (Stamoulis & Tsitsiklis, section 3.3, Lemmas 7
// to 10 and Proposition 11).
//
// Both networks get the same packets from outside, and the k-th packet that completes a link takes
// that link's k-th routing decision: decisions belong to the order of completions, not to packets.
// The lemmas are about single sample paths, so every departure is compared, and no average is
// taken.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct CoupledConfig {
  double rate = 0;      // packets per unit of time and row, Poisson
  double flip = 0.5;    // probability that a packet crosses at the next stage
  double duration = 0;  // units of time in which packets are generated; all packets leave
  uint64_t seed = 0;
};

struct PathCount {
  uint64_t compared = 0;
  uint64_t violations = 0;
  void Add(bool holds) {
    ++compared;
    violations += !holds;
  }
};

struct CoupledResult {
  uint64_t packets = 0;
  // Lemma 7: with the same arrivals (those of the sharing network) the i-th departure from a FIFO
  // link is no later than from a sharing link. Compared for every link and every i.
  PathCount same_arrivals;
  // Lemma 8: if packets arrive at a FIFO link earlier, they leave no later. Compared for every link
  // to which, for all i, the i-th packet comes no later in the FIFO network.
  PathCount earlier_arrivals;
  // Lemma 9: the i-th departure from a link of the FIFO network is no later than in the sharing
  // network.
  PathCount links;
  // Lemma 10: B(t) >= B~(t), the i-th packet to leave the FIFO network is no later. The arrivals
  // are the same, so that is Proposition 11 on this path too: the FIFO network never holds more
  // packets.
  PathCount departures;
};

// InvalidArgument: the network is neither a butterfly nor a hypercube, or a value is out of range.
// A run takes about 100 bytes for each packet.
absl::StatusOr<CoupledResult> RunCoupled(const Network& network, const CoupledConfig& config);

}  // namespace bfly::dataplane
