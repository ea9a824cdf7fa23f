// SPDX-License-Identifier: Apache-2.0
// The end of a fabric, for `bfly down` and `bfly up --foreground`.
#pragma once

#include "absl/status/status.h"
#include "control/cli/fleet.h"
#include "control/cli/verb.h"

namespace bfly::control {

// Unloads the fabric, prints the closing account, stops every process and empties the run
// directory. If the fabric could not be unloaded, it stops the processes nevertheless and returns
// that error.
absl::Status CloseFabric(Fleet& fleet, const Common& common);

}  // namespace bfly::control
