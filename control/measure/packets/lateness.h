// SPDX-License-Identifier: Apache-2.0
// Withholds verdicts on the wall clock that late workers may have caused.
#pragma once

#include <vector>

#include "control/measure/core/claim.h"

namespace bfly::control {

// The mean lateness may be at most this part of the half-width of the deciding interval.
inline constexpr double kMostLateness = 0.5;

// The sinks measure delays, and lateness is a part of them. If the mean lateness is more than
// kMostLateness of the half-width of the interval that decides a claim, a verdict that lateness may
// have caused becomes NOT APPLICABLE, with the reason. Lateness only adds to delays: it cannot make
// an upper bound hold or a lower bound fail. Claims that count packets do not depend on it.
// `unit_us` is the number of microseconds in a unit. Measurements under the virtual clock have no
// lateness.
void WithholdLateVerdicts(const std::vector<Measurement>& series, double unit_us,
                          std::vector<ClaimResult>& claims);

}  // namespace bfly::control
