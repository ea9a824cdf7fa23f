// SPDX-License-Identifier: Apache-2.0
// Set-up time in the model of Cole et al. 1998 (topologies/pass_steps.h).
#pragma once

#include <cstdint>

#include "control/protocols/protocol.h"

namespace bfly::control {

// Steps of a protocol whose requests were those of `paths` and `buddies`:
//  * collision: in each round the packets of all active paths go forward, and when the last has
//    arrived they come back;
//  * one request at a time (minimum): both probes go forward and come back, 2 dilation a request,
//    and nobody is in the way;
//  * the others: one packet a path reserves it on its way forward.
uint64_t SetUpSteps(const Network& network, const RouteResult& result);

}  // namespace bfly::control
