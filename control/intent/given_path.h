// SPDX-License-Identifier: Apache-2.0
// Paths of single set-ups: one that the caller names, and one over the ports of given directions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "control/protocols/protocol.h"
#include "topologies/link_capacity.h"

namespace bfly::control {

// By the row at every level, by the port of every hop, or both. INVALID_ARGUMENT names the row or
// port that is wrong.
absl::StatusOr<CircuitPath> GivenPath(const Network& network, Row input, Row output,
                                      const std::vector<Row>& rows,
                                      const std::vector<uint32_t>& ports);

// Where a direction has several ports: at each hop the one with the fewest circuits, as the minimum
// protocol has it. Ports that are full count as blocked where another one of the direction has
// room.
CircuitPath PathAmongPorts(const LinkLoad& load, const LinkCapacity& capacity,
                           const FaultSet& faults, Row input, Row output);

}  // namespace bfly::control
