// SPDX-License-Identifier: Apache-2.0
#include "control/measure/claim.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/measure/conditions.h"

namespace bfly::control {

Estimate Measurement::delay() const {
  return Over([](const Trial& t) { return t.mean_delay; });
}

Estimate Measurement::growth() const {
  return Over([](const Trial& t) { return t.offered - t.accepted; });
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
  // Of seeds whose permutations load links differently one that is overloaded is enough.
  double use = 0;
  for (const Trial& trial : trials) {
    if (trial.unfinished > 0) return true;
    use = std::max(use, point.load * trial.figure("worst_link"));
  }
  if (use > 1 || (HasLoadFactor(point).empty() && point.rho >= 1)) return true;
  if (accepted() < 0.97 * offered()) return true;
  const Estimate more = growth();
  return more.standard_error > 0 && more.mean > more.HalfWidth(1 - 2e-4);
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

bool Agrees(Relation relation, double theory, double low, double high) {
  const bool low_enough = low <= theory, high_enough = high >= theory;
  return (relation == Relation::kAtLeast || low_enough) &&
         (relation == Relation::kAtMost || high_enough);
}

ClaimResult Examine(const Claim& claim, const Measurement& measurement) {
  ClaimResult result{.id = claim.id,
                     .statement = claim.statement,
                     .source = claim.source,
                     .point = measurement.point,
                     .trials = static_cast<int>(measurement.trials.size()),
                     .reason = claim.not_applicable(measurement.point),
                     .relation = claim.relation,
                     .saturated = measurement.saturated(),
                     .invariant = claim.invariant,
                     .above_zero = claim.above_zero};
  if (result.reason.empty() && claim.stationary && result.saturated) {
    result.reason = "the network is saturated: it has no stationary state";
  }
  if (result.reason.empty() && claim.undecided) result.reason = claim.undecided(measurement);
  if (!result.reason.empty()) return result;
  Reading figure = claim.measured(measurement);
  result.theory = claim.theory(measurement.point);
  result.measured = figure.value;
  result.reason = std::isfinite(figure.value) ? figure.doubt : "no trial measured it";
  result.open = result.reason.empty();
  // Sums of fractions are exact to some 1e-12.
  result.slack =
      1e-10 * std::max(1.0, std::abs(result.theory)) + claim.tolerance * std::abs(result.theory);
  result.interval = std::move(figure.interval);
  if (result.interval != nullptr) {
    const Interval alone = result.interval(0.025);
    result.ci95 = (alone.high - alone.low) / 2;
  }
  return result;
}

const std::vector<Claim>& AllClaims() {
  static const std::vector<Claim> all = [] {
    std::vector<Claim> claims;
    for (const auto& some : {GreedyClaims(), LinkUseClaims(), StabilityClaims(), DisciplineClaims(),
                             CoupledClaims()}) {
      claims.insert(claims.end(), some.begin(), some.end());
    }
    for (Claim& claim : claims) claim.not_applicable = AllOf(PaperModel, claim.not_applicable);
    for (const auto& some : {RoundsClaims(), PatternClaims(), GeneralClaims()}) {
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
