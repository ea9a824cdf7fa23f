// SPDX-License-Identifier: Apache-2.0
// Set-up time in the model of Cole et al. 1998 (THEORY.md 2.4): in a step one packet crosses each
// link, a packet that waits is stored in front of the link, and links serve first come, first
// served.
#pragma once

#include <cstdint>
#include <vector>

#include "control/protocols/protocol.h"

namespace bfly::control {

struct Probe {
  Row input = 0;
  Tag tag = 0;
};

// Steps until the last of these packets has arrived, when all set out together: from the inputs to
// the outputs, or with `backward` from the outputs along the same links to the inputs. Packets that
// reach a link in the same step go in the order they are given in.
uint64_t PassSteps(const Network& network, const std::vector<Probe>& probes, bool backward);

// Steps of a protocol whose requests were those of `paths` and `buddies`:
//  * collision: in each round the packets of all active paths go forward, and when the last has
//    arrived they come back;
//  * one request at a time (minimum): both probes go forward and come back, 2 dilation a request,
//    and nobody is in the way;
//  * the others: one packet a path reserves it on its way forward.
uint64_t SetUpSteps(const Network& network, const RouteResult& result);

}  // namespace bfly::control
