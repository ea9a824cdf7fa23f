// SPDX-License-Identifier: Apache-2.0
// Checked claims as rows of tables with one line for each curve.
#pragma once

#include <string>

#include "control/measure/core/report.h"

namespace bfly::control {

// Writes one line for each claim and curve, failures first, with the point where the claim holds
// most narrowly. Claims that do not apply are listed only with `all`. `subject` is what a curve is
// about, such as "protocol".
std::string ClaimsByCurve(const Report& report, const std::string& subject, bool all);
// Claims about probabilities, one line for each curve and d, including points where the bound says
// nothing.
std::string TailTable(const Report& report);

}  // namespace bfly::control
