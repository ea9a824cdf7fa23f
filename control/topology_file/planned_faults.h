// SPDX-License-Identifier: Apache-2.0
// The faults section of a topology: what it takes down, and what is wrong with it. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "bfly/v1/topology.pb.h"
#include "control/topology_file/diagnostic.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// A fabric tells its data planes of each. More faults than this are a mistake in a range.
inline constexpr uint64_t kMostPlannedFaults = 1 << 20;

// Returns what is wrong with faults on this network, apart from broken field rules. Fields are
// "PATH.nodes[i].levels" and so on.
std::vector<Violation> CheckFaults(const v1::Faults& faults, const Network& network,
                                   const std::string& path);

// All that the section names, draws and lets the adversary choose. CheckFaults must have accepted
// it. `network` must outlive the result.
FaultSet PlannedFaults(const v1::Faults& faults, const Network& network);

}  // namespace bfly::control
