// SPDX-License-Identifier: Apache-2.0
// Checks the relations between the fields of a bfly.v1.Topology, whether it came from a file or
// over gRPC. The data plane checks what depends on its machine, such as lcores and devices
// (dataplane::Fabric::Verify).
#pragma once

#include <vector>

#include "bfly/v1/topology.pb.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {

// Fills in what a topology may leave out: defaults of the schema, the data plane "dp0" if none is
// named, the only data plane for placements and ports that name none, translate_mac. A second call
// changes nothing.
void CompleteTopology(v1::Topology* topology);

// Returns every contradiction within a complete topology. It skips fields that break their own
// rule, because CheckRules reports them, and it does not report consequences of such fields.
std::vector<Violation> ValidateTopology(const v1::Topology& topology);

// For topologies that did not come from a file: completes the topology, then reports broken field
// rules and contradictions together.
std::vector<Violation> CheckTopology(v1::Topology* topology);

}  // namespace bfly::control
