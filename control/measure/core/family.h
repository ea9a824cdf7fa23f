// SPDX-License-Identifier: Apache-2.0
// Verdicts of a whole run. The claims of the run, at all points, are one family of tests. The more
// tests there are, the wider is the interval of each, so that true claims all pass together with a
// stated probability.
#pragma once

#include <algorithm>
#include <vector>

#include "control/measure/core/claim.h"

namespace bfly::control {

// If every claim is true, a run has any FAIL with at most this probability.
inline constexpr double kFamilyError = 1e-3;

// Every test gets the same part of the error: Bonferroni's inequality, which needs no independence.
struct Family {
  double family_error = kFamilyError;
  int tests = 0;  // pairs of claim and point that an interval decided
  double error() const { return family_error / std::max(tests, 1); }
};

// Gives every result that Examine left open its interval and its verdict: kFail if the interval
// contradicts theory, and otherwise kPass or kInvariant. A claim that something is above 0 becomes
// kNotApplicable if the interval cannot tell it from 0.
Family Decide(std::vector<ClaimResult>& results, double family_error = kFamilyError);

}  // namespace bfly::control
