// SPDX-License-Identifier: Apache-2.0
// Paths of single set-ups: one that the caller names, and one over the ports of given directions.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "control/protocols/protocol.h"
#include "topologies/link_capacity.h"

namespace bfly::control {

// Makes a path of the row at every level, of the port of every hop, or of both. INVALID_ARGUMENT
// names the row or port that is wrong.
absl::StatusOr<CircuitPath> GivenPath(const Network& network, Row input, Row output,
                                      const std::vector<Row>& rows,
                                      const std::vector<uint32_t>& ports);

// Where a direction has several ports, each hop takes the port with the fewest circuits, as the
// minimum protocol does. A port that is full counts as blocked where another port of its direction
// has room.
CircuitPath PathAmongPorts(const LinkLoad& load, const LinkCapacity& capacity,
                           const FaultSet& faults, Row input, Row output);

}  // namespace bfly::control
