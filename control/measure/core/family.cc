// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/family.h"

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// The error that the interval may have on each side. A bound can fail on one side only, so that
// side gets all of it.
double ErrorOfASide(Relation relation, double error) {
  return relation == Relation::kEqual ? error / 2 : error;
}

void JudgeByInterval(ClaimResult& result) {
  const bool agrees =
      Agrees(result.relation, result.theory, result.low - result.slack, result.high + result.slack);
  if (agrees && result.above_zero && result.low <= 0 && result.high > 0) {
    result.reason = "the interval holds 0: more seeds or packets would tell";
    return;
  }
  const bool holds_theory =
      result.low - result.slack <= result.theory && result.high + result.slack >= result.theory;
  if (agrees && result.strict && holds_theory) {
    result.reason = "the interval holds the value of the statement: more seeds would tell";
    return;
  }
  result.verdict = !agrees || (result.above_zero && result.high <= 0) ? Verdict::kFail
                   : result.invariant                                 ? Verdict::kInvariant
                                                                      : Verdict::kPass;
  if (result.invariant && result.verdict == Verdict::kFail) {
    result.reason = "an invariant is broken: the fault is in bfly";
  }
}

}  // namespace

Family Decide(std::vector<ClaimResult>& results, double family_error) {
  Family family{.family_error = family_error};
  for (const ClaimResult& result : results) {
    family.tests += result.open && result.interval != nullptr;
  }
  for (ClaimResult& result : results) {
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
