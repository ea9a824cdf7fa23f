// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/claim.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/experiment/conditions.h"

namespace bfly::control {

Estimate Measurement::delay() const {
  std::vector<double> values;
  if (trials.size() >= 3) {
    for (const Trial& trial : trials) values.push_back(trial.mean_delay);
  } else {
    for (const Trial& trial : trials) {
      values.insert(values.end(), trial.batch_delays.begin(), trial.batch_delays.end());
    }
  }
  return EstimateMean(values);
}

Estimate Measurement::Over(const std::string& figure) const {
  return Over([&figure](const Trial& t) { return t.figure(figure); });
}

Estimate Measurement::Over(const std::function<double(const Trial&)>& figure) const {
  std::vector<double> values;
  for (const Trial& trial : trials) values.push_back(figure(trial));
  return EstimateMean(values);
}

double Measurement::offered() const {
  return Over([](const Trial& t) { return t.offered; }).mean;
}
double Measurement::accepted() const {
  return Over([](const Trial& t) { return t.accepted; }).mean;
}

bool Measurement::saturated() const {
  for (const Trial& trial : trials) {
    if (trial.unfinished > 0) return true;
  }
  return accepted() < 0.97 * offered();
}

absl::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return "PASS";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kInvariant:
      return "INVARIANT";
    case Verdict::kVacuous:
      return "VACUOUS";
    case Verdict::kNotApplicable:
      break;
  }
  return "NOT APPLICABLE";
}

Verdict VerdictOf(Relation relation, double theory, double measured, double margin) {
  const bool low_enough = measured - margin <= theory;
  const bool high_enough = measured + margin >= theory;
  const bool holds = (relation == Relation::kAtLeast || low_enough) &&
                     (relation == Relation::kAtMost || high_enough);
  return holds ? Verdict::kPass : Verdict::kFail;
}

ClaimResult Check(const Claim& claim, const Measurement& measurement) {
  ClaimResult result{.id = claim.id,
                     .statement = claim.statement,
                     .source = claim.source,
                     .point = measurement.point,
                     .trials = static_cast<int>(measurement.trials.size()),
                     .reason = claim.not_applicable(measurement.point),
                     .relation = claim.relation};
  if (result.reason.empty() && claim.undecided) result.reason = claim.undecided(measurement);
  if (!result.reason.empty()) return result;
  const Estimate estimate = claim.measured(measurement);
  result.theory = claim.theory(measurement.point);
  result.measured = estimate.mean;
  result.ci95 = claim.counted ? 0 : estimate.HalfWidth(0.95);
  if (!claim.counted && estimate.values < 2) {
    result.reason = "one trial has no confidence interval: give more seeds";
    return result;
  }
  const double margin = (claim.counted ? 0 : estimate.HalfWidth(0.9999)) +
                        (1e-12 + claim.tolerance) * std::abs(result.theory);
  result.verdict = VerdictOf(claim.relation, result.theory, estimate.mean, margin);
  if (claim.invariant) JudgeInvariant(result.verdict == Verdict::kPass, result);
  return result;
}

const std::vector<Claim>& AllClaims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> claims;
    for (const auto& some : {GreedyClaims(), DisciplineClaims(), CoupledClaims()}) {
      claims.insert(claims.end(), some.begin(), some.end());
    }
    for (Claim& claim : claims) claim.not_applicable = AllOf(PaperModel, claim.not_applicable);
    for (const auto& some : {RoundsClaims(), PatternClaims()}) {
      claims.insert(claims.end(), some.begin(), some.end());
    }
    return claims;
  }();
  return all;
}

absl::StatusOr<std::vector<const Claim*>> ClaimsNamed(const std::vector<std::string>& ids) {
  std::vector<const Claim*> claims;
  std::vector<absl::string_view> known;
  for (const Claim& claim : AllClaims()) known.push_back(claim.id);
  for (const std::string& id : ids) {
    const size_t before = claims.size();
    for (const Claim& claim : AllClaims()) {
      if (id == claim.id) claims.push_back(&claim);
    }
    if (claims.size() == before) {
      return absl::NotFoundError(absl::StrCat(
          "claims: \"", id, "\" is unknown (allowed: ", absl::StrJoin(known, ", "), ")"));
    }
  }
  if (ids.empty()) {
    for (const Claim& claim : AllClaims()) claims.push_back(&claim);
  }
  return claims;
}

}  // namespace bfly::control
