// SPDX-License-Identifier: Apache-2.0
// What of a lab runs: its fabric, and whether everything is as `bfly lab up` made it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "control/cli/fleet.h"
#include "control/cli/verb.h"
#include "control/lab/journal.h"

namespace bfly::control {

// Whether a fabric runs in the directory, by whomever its processes were started.
bool FabricRuns(const Fleet& fleet, const Common& common);

// What still uses the hosts, for a message. Empty: nothing does.
std::string UserOf(const LabRecord& record, const Common& common);

// UNAVAILABLE names what is not as `bfly lab up` has made it. What cannot be known is not wrong.
absl::Status LabHealth(const LabRecord& record, const Common& common);

}  // namespace bfly::control
