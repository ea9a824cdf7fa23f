// SPDX-License-Identifier: Apache-2.0
// FIFO and processor sharing on coupled sample paths (Stamoulis & Tsitsiklis, section 3.3, Lemmas 7
// to 10 and Proposition 11).
//
// Both networks get the same packets from outside, and the k-th packet that completes a link takes
// that link's k-th routing decision: decisions belong to the order of completions, not to packets.
// The statements are about single paths, so every departure is compared, none averaged.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct CoupledConfig {
  double rate = 0;      // packets per unit of time and row, Poisson
  double flip = 0.5;    // probability that a packet crosses at the next stage
  double duration = 0;  // units in which packets are generated; all of them leave
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
  // link is no later than from one that shares. Every link, every i.
  PathCount same_arrivals;
  // Lemma 8: earlier arrivals at a FIFO link leave no later. Every link to which the i-th packet
  // comes no later in the FIFO network, for all i.
  PathCount earlier_arrivals;
  // Lemma 9: the i-th departure from a link of the FIFO network is no later than in the other.
  PathCount links;
  // Lemma 10: B(t) >= B~(t), the i-th packet to leave the FIFO network is no later. The arrivals
  // are the same, so that is Proposition 11 on this path too: the FIFO network never holds more
  // packets.
  PathCount departures;
};

// InvalidArgument if the network is neither a butterfly nor a hypercube, or a value is out of
// range. Takes about 100 bytes a packet.
absl::StatusOr<CoupledResult> RunCoupled(const Network& network, const CoupledConfig& config);

}  // namespace bfly::dataplane
