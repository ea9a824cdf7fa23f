// SPDX-License-Identifier: Apache-2.0
// Benes routing around faulty links.
#pragma once

#include <vector>

#include "control/protocols/protocol.h"

namespace bfly::control {

// Changing the middle rows of all paths by the same mask keeps the paths at one circuit a link: at
// each level all rows then change by the same part of the mask, so that two paths that were apart
// stay apart. One run of the looping algorithm therefore gives n solutions.
//
// `middle` is indexed by input. Returns the smallest of the masks whose solution sends the fewest
// requests over faulty links; 0 if the given solution crosses none.
Row MaskAroundFaults(const Network& network, const std::vector<Request>& requests,
                     const std::vector<Row>& middle, const FaultSet& faults);

// Replaces each path that crosses a faulty link by a whole path, the one whose fullest link is
// least full, with choice kArbitrary. The request is listed in requests_left, because its path may
// share links. A path that has no whole alternative stays. Returns the error of `interrupt`, which
// is asked before each such request; then some paths are not replaced.
absl::Status RerouteBroken(const Network& network, const LinkLoad* standing, const FaultSet& faults,
                           const Interrupt& interrupt, RouteResult& result);

}  // namespace bfly::control
