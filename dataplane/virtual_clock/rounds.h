// SPDX-License-Identifier: Apache-2.0
// The pipelined non-greedy scheme of Valiant and Brebner as Stamoulis & Tsitsiklis, section 2.3,
// have it: packets are sent in rounds, and a round starts when the one before it has ended.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct RoundsResult {
  VirtualResult run;  // stage figures, occupancies and link counts are left out
  uint64_t rounds = 0;
  double mean_round = 0;  // units, over the rounds of the measured time
  // Mean length of a round in which every node sends one packet, over rounds of their own.
  double full_round = 0;
};

// At the start of a round every node that has a packet releases its oldest one; all are routed
// greedily over FIFO links; the next round starts when the last has arrived, at once if a node
// has a packet then, else with the next birth. Of `config`: arrivals (Poisson), flip, warmup,
// duration and batches count. full_rounds: how many to average full_round over, at least 1.
// InvalidArgument as RunVirtual, and if the network is wrapped.
absl::StatusOr<RoundsResult> RunRounds(const Network& network, const VirtualConfig& config,
                                       uint64_t full_rounds);

}  // namespace bfly::dataplane
