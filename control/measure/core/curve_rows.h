// SPDX-License-Identifier: Apache-2.0
// Checked claims as rows of tables in which a curve is one line.
#pragma once

#include <string>

#include "control/measure/core/report.h"

namespace bfly::control {

// One line for a claim and a curve, failures first, with the point where the claim holds by the
// least; without `all` those that do not apply are left out. `subject`: what a curve is about, such
// as "protocol".
std::string ClaimsByCurve(const Report& report, const std::string& subject, bool all);
// Claims about probabilities, point by point, also where the bound says nothing.
std::string TailTable(const Report& report);

}  // namespace bfly::control
