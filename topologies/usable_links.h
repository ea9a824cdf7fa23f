// SPDX-License-Identifier: Apache-2.0
// Links that packets may take where switches can be faulty.
#pragma once

#include <vector>

#include "topologies/faulty_switches.h"
#include "topologies/network.h"

namespace bfly {

// By link: whether it works and leads to a switch that does not count as faulty. The network has
// one pass, and `faulty` is about it.
std::vector<bool> UsableLinks(const Network& network, const FaultySwitches& faulty);

}  // namespace bfly
