// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/circuit_claims.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/experiment/circuit_claim_parts.h"

namespace bfly::control {
namespace {

constexpr char kIfEnded[] = "_if_ended";
constexpr double kError = 1e-4;  // a true claim fails once in ten thousand points

// What the protocols promise holds where no request was left over.
double FigureOf(const Trial& trial, const std::string& figure) {
  const size_t condition = figure.find(kIfEnded);
  if (condition == std::string::npos) return trial.figure(figure);
  return trial.figure("left") > 0 ? std::nan("") : trial.figure(figure.substr(0, condition));
}

void CheckProbability(const CircuitClaim& claim, const std::vector<double>& values,
                      CircuitClaimResult& result) {
  const double least = claim.at_least(result.point);
  const auto hits = static_cast<int>(
      std::count_if(values.begin(), values.end(), [&](double value) { return value >= least; }));
  Tail& tail = result.tail.emplace();
  tail.event = absl::StrCat(claim.figure, " >= ", least);
  tail.hits = hits;
  std::tie(tail.low95, tail.high95) = ProbabilityInterval(result.trials, hits, 0.025);
  result.measured = static_cast<double>(hits) / result.trials;
  result.ci95 = std::max(result.measured - tail.low95, tail.high95 - result.measured);
  if (result.verdict == Verdict::kVacuous) return;
  if (ProbabilityInterval(result.trials, result.trials, kError).first <= result.theory) {
    result.reason = absl::StrCat(result.trials, " trials are too few to fail it");
    return;
  }
  const double low = ProbabilityInterval(result.trials, hits, kError).first;
  result.verdict = low <= result.theory ? Verdict::kPass : Verdict::kFail;
}

}  // namespace

std::pair<double, double> ProbabilityInterval(double trials, double hits, double error) {
  using Binomial = boost::math::binomial_distribution<>;
  return {Binomial::find_lower_bound_on_p(trials, hits, error),
          Binomial::find_upper_bound_on_p(trials, hits, error)};
}

std::vector<double> CircuitMeasurement::Values(const std::string& figure) const {
  std::vector<double> values;
  for (const Trial& trial : trials) values.push_back(FigureOf(trial, figure));
  return values;
}

CircuitClaimResult Check(const CircuitClaim& claim, const CircuitMeasurement& measurement) {
  CircuitClaimResult result{.id = claim.id,
                            .statement = claim.statement,
                            .source = claim.source,
                            .point = measurement.point,
                            .reason = claim.about(measurement.point),
                            .relation = claim.relation};
  if (!result.reason.empty()) return result;
  if (claim.not_applicable) result.reason = claim.not_applicable(measurement.point);
  if (!result.reason.empty()) return result;
  if (claim.vacuous) result.reason = claim.vacuous(measurement.point);
  if (!result.reason.empty()) result.verdict = Verdict::kVacuous;
  std::vector<double> values = measurement.Values(claim.figure);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  result.trials = static_cast<int>(values.size());
  result.theory = claim.theory(measurement.point);
  double slack = 0;
  if (values.empty()) {
    result.verdict = Verdict::kNotApplicable;
    result.reason = "no trial ended by itself";
    return result;
  }
  if (claim.at_least) {
    CheckProbability(claim, values, result);
    return result;
  }
  if (claim.mean) {
    const Estimate estimate = EstimateMean(values);
    result.measured = estimate.mean;
    if (values.size() < 3) {
      result.reason = "a mean needs three trials";
      return result;
    }
    result.ci95 = estimate.HalfWidth(0.95);
    slack = estimate.HalfWidth(0.9999);
    if (claim.fraction_of_requests) {
      constexpr double kSigmas = 3.89;  // of a normal distribution, for the same 99.99 %
      const double requests = static_cast<double>(values.size()) * measurement.point.rows();
      const double spread = std::sqrt(result.theory * (1 - result.theory) / requests);
      slack = std::max(slack, kSigmas * spread);
    }
  } else if (claim.relation == Relation::kEqual) {
    result.measured = *std::max_element(values.begin(), values.end(), [&](double a, double b) {
      return std::fabs(a - result.theory) < std::fabs(b - result.theory);
    });
  } else {
    result.measured = claim.relation == Relation::kAtMost
                          ? *std::max_element(values.begin(), values.end())
                          : *std::min_element(values.begin(), values.end());
  }
  if (result.verdict == Verdict::kVacuous) return result;
  result.verdict = VerdictOf(claim.relation, result.theory, result.measured, slack);
  if (claim.invariant) JudgeInvariant(result.verdict == Verdict::kPass, result);
  return result;
}

const std::vector<CircuitClaim>& CircuitClaims() {
  static const std::vector<CircuitClaim> all = [] {
    std::vector<CircuitClaim> claims;
    for (const auto& some : {RandomizedClaims(), BaselineClaims(), TailClaims()}) {
      claims.insert(claims.end(), some.begin(), some.end());
    }
    return claims;
  }();
  return all;
}

absl::StatusOr<std::vector<const CircuitClaim*>> CircuitClaimsNamed(
    const std::vector<std::string>& ids) {
  std::vector<const CircuitClaim*> named;
  std::vector<std::string> known;
  for (const CircuitClaim& claim : CircuitClaims()) {
    known.push_back(claim.id);
    if (ids.empty()) named.push_back(&claim);
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto at = std::find(known.begin(), known.end(), ids[i]);
    if (at == known.end()) {
      return absl::NotFoundError(
          absl::StrCat("claims[", i, "]: \"", ids[i],
                       "\" is unknown (allowed: ", absl::StrJoin(known, ", "), ")"));
    }
    named.push_back(&CircuitClaims()[static_cast<size_t>(at - known.begin())]);
  }
  return named;
}

}  // namespace bfly::control
