// SPDX-License-Identifier: Apache-2.0
// Verdicts of a whole run. Its claims at all its points are one family of tests: the more there are
// the wider the interval of each, so that true claims all pass together with a stated probability.
#pragma once

#include <algorithm>
#include <vector>

#include "control/measure/core/claim.h"

namespace bfly::control {

// Probability, at most, that a run in which every claim is true has any FAIL.
inline constexpr double kFamilyError = 1e-3;

// The same part of it for each test: Bonferroni's inequality, which needs no
// independence.
struct Family {
  double family_error = kFamilyError;
  int tests = 0;  // claims and points that were judged by an interval
  double error() const { return family_error / std::max(tests, 1); }
};

// Gives every result that Examine left open its interval and its verdict: kFail where the interval
// contradicts theory, and otherwise kPass or kInvariant. A claim that something is above 0 has no
// verdict where the interval cannot tell it from 0.
Family Decide(std::vector<ClaimResult>& results, double family_error = kFamilyError);

}  // namespace bfly::control
