// SPDX-License-Identifier: Apache-2.0
// Pictures of a report, drawn by gnuplot.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "control/experiment/report.h"

namespace bfly::control {

// Mean delay over rho with its 95 % interval, one curve for each (d, p, slot); the bounds on the
// delay that were checked are lines. Writes delay.gp, delay.svg and delay.png. FailedPrecondition
// if there is no gnuplot.
absl::Status DrawDelay(const Report& report, const std::string& folder);

}  // namespace bfly::control
