// SPDX-License-Identifier: Apache-2.0
// Paths that the caller of a single set-up names.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "control/protocols/protocol.h"

namespace bfly::control {

// Makes a path of the row at every level, of the port of every hop, or of both. INVALID_ARGUMENT
// names the row or port that is wrong.
absl::StatusOr<CircuitPath> GivenPath(const Network& network, Row input, Row output,
                                      const std::vector<Row>& rows,
                                      const std::vector<uint32_t>& ports);

}  // namespace bfly::control
