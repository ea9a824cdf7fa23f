// SPDX-License-Identifier: Apache-2.0
// The end of a fabric, for `bfly down` and `bfly up --foreground`.
#pragma once

#include "absl/status/status.h"
#include "control/cli/fleet.h"
#include "control/cli/verb.h"

namespace bfly::control {

// Unloads the fabric, prints the closing account, stops every process and empties the run
// directory. Processes are stopped also if the fabric could not be unloaded; the status says so
// then.
absl::Status CloseFabric(Fleet& fleet, const Common& common);

}  // namespace bfly::control
