// SPDX-License-Identifier: Apache-2.0
// What must hold between the fields of a bfly.v1.Topology, whether it came from a file or over
// gRPC. What a machine has (lcores, devices) is checked by its data plane,
// dataplane::Fabric::Verify.
#pragma once

#include <vector>

#include "bfly/v1/topology.pb.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {

// Fills in what a topology may leave out: defaults of the schema, the one data plane "dp0", the
// data plane of placements and ports where there is only one, translate_mac. Completing twice
// changes nothing.
void CompleteTopology(v1::Topology* topology);

// Every contradiction within a complete topology. Fields that break their own rule are passed over:
// they are reported elsewhere, and what follows from them is not reported at all.
std::vector<Violation> ValidateTopology(const v1::Topology& topology);

// For topologies that did not come from a file: completes, then reports broken field rules and
// contradictions together.
std::vector<Violation> CheckTopology(v1::Topology* topology);

}  // namespace bfly::control
