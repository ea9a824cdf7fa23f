// SPDX-License-Identifier: Apache-2.0
// Set-up time in the model of Cole et al. 1998 (topologies/pass_steps.h).
#pragma once

#include <cstdint>

#include "control/protocols/protocol.h"

namespace bfly::control {

// The number of steps of a protocol with this result:
//   * collision: in each round the packets of all active paths go forward, and when the last packet
//     has arrived they come back;
//   * one request at a time (minimum): its probes go forward and come back, which takes 2 dilation
//     steps a request, because no other packet is under way. On a dilated butterfly a request has
//     one probe. On a multibutterfly it has none, and the packet that reserves its path takes
//     `dilation` steps;
//   * the other protocols: one packet a path reserves the path on its way forward. Requests that
//     q_limited loses have no path, and their packets are left out.
uint64_t SetUpSteps(const Network& network, const RouteResult& result);

}  // namespace bfly::control
