// SPDX-License-Identifier: Apache-2.0
// The end of a fabric, for `bfly down`, `bfly up` and `bfly lab`.
#pragma once

#include "absl/status/status.h"
#include "bfly/v1/fabric.pb.h"
#include "control/cli/fleet.h"
#include "control/cli/verb.h"

namespace bfly::control {

// Unloads the fabric, prints the closing account, stops every process and empties the run
// directory. If the fabric could not be unloaded, it stops the processes nevertheless and returns
// that error. With --json it puts the account into `account_out` if there is one, and prints
// nothing.
absl::Status CloseFabric(Fleet& fleet, const Common& common,
                         v1::UnloadResponse* account_out = nullptr);

// Both errors, if both are errors, with the code of the first.
absl::Status Joined(const absl::Status& first, const absl::Status& second);

}  // namespace bfly::control
