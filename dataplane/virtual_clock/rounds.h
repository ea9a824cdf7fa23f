// SPDX-License-Identifier: Apache-2.0
// The pipelined non-greedy scheme of Valiant and Brebner as Stamoulis & Tsitsiklis describe it in
// section 2.3: packets are sent in rounds, and a round starts when the previous round has ended.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct RoundsResult {
  VirtualResult run;  // stage figures, occupancies and link counts are left out
  uint64_t rounds = 0;
  // The mean length of a round in units, over the rounds of the measured time.
  double mean_round = 0;
  // The mean length, in units, of a round in which every node sends one packet. It is measured in
  // separate rounds.
  double full_round = 0;
};

// At the start of a round every node that has a packet releases its oldest packet. All released
// packets are routed greedily over FIFO links. When the last of them has arrived, the next round
// starts: at once if a node has a packet then, and otherwise with the next birth. Only these fields
// of `config` are used: arrivals (Poisson), flip, warmup, duration and batches. full_rounds: over
// how many rounds full_round is averaged, at least 1. InvalidArgument: as RunVirtual, and if the
// network is wrapped.
absl::StatusOr<RoundsResult> RunRounds(const Network& network, const VirtualConfig& config,
                                       uint64_t full_rounds);

}  // namespace bfly::dataplane
