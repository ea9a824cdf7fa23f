// SPDX-License-Identifier: Apache-2.0
// The election id of the owner of the controller's run directory. Calls with this id may change the
// fabric whoever is primary, so that no client can lock the owner out.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace bfly::control {

// Draws a new id above Arbitration::kMaxElectionId and writes it to RUN_DIR/operator.id, a file
// that only its owner may read. INTERNAL: it cannot be written.
absl::StatusOr<uint64_t> WriteOperatorId(const std::string& run_directory);
// Returns 0 if there is no such file or this user may not read it.
uint64_t ReadOperatorId(const std::string& run_directory);
void RemoveOperatorId(const std::string& run_directory);

}  // namespace bfly::control
