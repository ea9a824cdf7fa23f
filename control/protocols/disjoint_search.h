// SPDX-License-Identifier: Apache-2.0
// Link-disjoint paths where the matching of level_matching.h finds none.
#pragma once

#include <optional>
#include <vector>

#include "control/protocols/level_matching.h"

namespace bfly::control {

struct SearchResult {
  enum class End {
    kFound,
    kExhausted,  // all ways were tried: there are no disjoint paths
    kStopped,    // the search looked at as many links as it may
  };
  End end = End::kStopped;
  LinkPaths paths;  // if found
};

// Both look at about `most_looks` links at most.

// Routes the requests one after the other. When a request finds no open path, it becomes the first
// and all begins again, a limited number of times. Returns nothing if that finds no paths, which
// proves nothing.
std::optional<LinkPaths> RouteHardestFirst(OpenLinks open, const std::vector<Request>& requests,
                                           uint64_t most_looks);
// Tries all ways: of the requests without a path the one with the fewest open paths takes each of
// them in turn.
SearchResult TryAllWays(OpenLinks open, const std::vector<Request>& requests, uint64_t most_looks);

}  // namespace bfly::control
