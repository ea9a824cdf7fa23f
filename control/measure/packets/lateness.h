// SPDX-License-Identifier: Apache-2.0
// On the wall clock, verdicts that late workers may have made.
#pragma once

#include <vector>

#include "control/measure/core/claim.h"

namespace bfly::control {

// The part of the deciding interval's half-width that the mean lateness may have.
inline constexpr double kMostLateness = 0.5;

// Delays are what the sinks saw, and lateness is a part of them. Where its mean is more than
// kMostLateness of the half-width of the interval that decides a claim, a verdict that lateness may
// have made becomes NOT APPLICABLE with the reason. Lateness only adds: it cannot make an upper
// bound hold or a lower bound fail. Claims that count packets do not change with it. `unit_us`:
// microseconds of a unit. Measurements under the virtual clock have no lateness.
void WithholdLateVerdicts(const std::vector<Measurement>& series, double unit_us,
                          std::vector<ClaimResult>& claims);

}  // namespace bfly::control
