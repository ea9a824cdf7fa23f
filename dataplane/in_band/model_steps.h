// SPDX-License-Identifier: Apache-2.0
// The cost of a pass in the paper's model: store and forward, each link carries one packet a step
// in each direction, queues are first in, first out (Cole et al. 1998, section 2.1: O(C + 2 log n)
// steps, C the congestion of the paths). Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

struct ModelPath {
  Row input = 0;
  Tag tag = 0;
};

struct PassSteps {
  uint64_t forward = 0;
  uint64_t backward = 0;
  PassSteps& operator+=(const PassSteps& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  friend bool operator==(const PassSteps&, const PassSteps&) = default;
};

// Steps until the last of the packets, one a path, all ready at step 0, is at its output; and, when
// all start back together, until the last is at its input. Packets that reach a node in the same
// step queue in the order of `paths`.
//
// The network is levelled, so each link's departures follow from its arrivals alone, in order of
// time: D = max(departure before, arrival) + 1.
PassSteps CountSteps(const Network& network, const std::vector<ModelPath>& paths);

}  // namespace bfly::dataplane
