// SPDX-License-Identifier: Apache-2.0
// Verdicts of a whole run. Its claims at all its points are one family of tests: the more there are
// the wider the interval of each, so that true claims all pass together with a stated probability.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/measure/claim.h"

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

// On which side theory may not lie decides how the error of a test is shared out: a bound fails on
// one side alone.
inline double ErrorOfASide(Relation relation, double error) {
  return relation == Relation::kEqual ? error / 2 : error;
}

// Gives every result that Examine left open its interval and its verdict.
template <typename P>
Family Decide(std::vector<ClaimResultAt<P>>& results, double family_error = kFamilyError) {
  Family family{.family_error = family_error};
  for (const ClaimResultAt<P>& result : results) {
    family.tests += result.open && result.interval != nullptr;
  }
  for (ClaimResultAt<P>& result : results) {
    result.low = result.high = result.measured;
    if (result.interval != nullptr) {
      result.error = family.error();
      const Interval interval = result.interval(ErrorOfASide(result.relation, result.error));
      result.low = interval.low;
      result.high = interval.high;
    }
    if (!result.open) continue;
    result.open = false;
    if (result.all != nullptr && result.all(result.error).low <= result.theory) {
      result.reason = absl::StrCat(result.trials, " trials are too few to fail it");
      continue;
    }
    JudgeByInterval(result);
  }
  return family;
}

}  // namespace bfly::control
