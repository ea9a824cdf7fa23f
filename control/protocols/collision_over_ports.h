// SPDX-License-Identifier: Apache-2.0
// The c-collision protocol where a direction has d ports (dilated butterflies and
// multibutterflies): the two random paths of Cole et al. 1998, section 2.1, become d candidate
// paths.
#pragma once

#include <vector>

#include "control/protocols/protocol.h"

namespace bfly::control {

// The d = network.multiplicity() candidate tags of a request. At each hop a port of the direction
// is drawn uniformly, by options.seed, input and hop; candidate k takes the k-th port behind it,
// counted around the direction. So every candidate is a uniformly random path, and no two of them
// share a link, as p and p' of the paper share none.
std::vector<Tag> PortCandidates(const Network& network, uint64_t seed, Row input, Row output);

// The rounds of collision.cc over these candidates: in each round every candidate of the requests
// without a path is active, a candidate is eligible if each of its links has at most c active
// paths and standing circuits, and a request takes its first eligible candidate. A link with a
// capacity below c counts with its capacity in place of c, and a path over a faulty link is never
// eligible. If no request is left, no link that the paths cross carries more than c circuits, or
// more than its capacity. A request that is left takes its first whole candidate.
absl::StatusOr<RouteResult> RouteCollisionOverPorts(const Network& network,
                                                    const LinkLoad* standing,
                                                    const std::vector<Request>& requests,
                                                    const ProtocolOptions& options);

}  // namespace bfly::control
