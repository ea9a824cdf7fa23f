// SPDX-License-Identifier: Apache-2.0
// Benes routing around faulty links.
#pragma once

#include <vector>

#include "control/protocols/protocol.h"

namespace bfly::control {

// Paths with one circuit a link stay so if the row in the middle of every one of them changes by
// the same mask: at each level the rows then differ by the part of the mask that the level has from
// the middle, which moves nodes one to one. So one run of the looping algorithm gives n solutions.
//
// `middle` by input. Returns the mask whose solution sends the fewest requests over faulty links,
// the smallest of those: 0 if the solution is whole as it is.
Row MaskAroundFaults(const Network& network, const std::vector<Request>& requests,
                     const std::vector<Row>& middle, const FaultSet& faults);

// Gives each path that crosses a faulty link the whole path whose fullest link is least full,
// choice kArbitrary, and notes it in requests_left: the bound of one circuit a link does not hold
// for it. A path without a whole alternative stays as it is.
void RerouteBroken(const Network& network, const LinkLoad* standing, const FaultSet& faults,
                   RouteResult& result);

}  // namespace bfly::control
