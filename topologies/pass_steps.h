// SPDX-License-Identifier: Apache-2.0
// The cost of a pass of packets in the model of Cole et al. 1998 (section 2.1; THEORY.md 2.4). In a
// step one packet crosses each link in each direction. A packet that waits is stored in front of
// the link, and links serve first come, first served. A pass takes O(C + hops) steps, where C is
// the congestion.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly {

struct TaggedPath {
  Row input = 0;
  Tag tag = 0;
};

// One packet travels along each path, and all packets set out in the same step: from the inputs to
// the outputs or, if `backward`, from the outputs to the inputs along the same links. Packets that
// reach a link in the same step cross it in the order of `paths`. Returns the number of steps until
// the last packet has arrived.
uint64_t StepsOfPass(const Network& network, const std::vector<TaggedPath>& paths, bool backward);

}  // namespace bfly
