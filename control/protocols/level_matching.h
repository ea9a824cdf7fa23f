// SPDX-License-Identifier: Apache-2.0
// Link-disjoint paths for many requests, chosen level by level: at every stage the requests are
// matched to outgoing links by augmenting paths. Arora, Leighton and Maggs ("On-line algorithms for
// path selection in a nonblocking network", 1996) extend paths through a multibutterfly level by
// level too, by unique neighbours.
#pragma once

#include <optional>
#include <vector>

#include "control/protocols/open_links.h"

namespace bfly::control {

// By request: the links of its path, one a hop.
using LinkPaths = std::vector<std::vector<uint64_t>>;

// At every stage each request is matched to an open link of its direction, no two to the same link.
// No node gets more requests for a direction of the next stage than it has open links in that
// direction, so it can pass them all on by itself. The stage first tries to bring at most one
// request to each node, then two, and so on. Returns nothing if a request finds no link at some
// stage, which does not prove that there are no disjoint paths. No two requests have the same input
// or output.
std::optional<LinkPaths> MatchLevelByLevel(const OpenLinks& open,
                                           const std::vector<Request>& requests);

}  // namespace bfly::control
