// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuit_claims.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/measure/circuit_claim_parts.h"

namespace bfly::control {
namespace {

constexpr char kIfEnded[] = "_if_ended";

// What the protocols promise holds where no request was left over.
double FigureOf(const Trial& trial, const std::string& figure) {
  const size_t condition = figure.find(kIfEnded);
  if (condition == std::string::npos) return trial.figure(figure);
  return trial.figure("left") > 0 ? std::nan("") : trial.figure(figure.substr(0, condition));
}

// The figure is the share of trials in which what the claim says is improbable happened.
Reading TailFigure(const CircuitClaim& claim, const std::vector<double>& values,
                   CircuitClaimResult& result) {
  const double least = claim.at_least(result.point);
  const auto trials = static_cast<double>(values.size());
  const auto hits = static_cast<double>(
      std::count_if(values.begin(), values.end(), [&](double value) { return value >= least; }));
  Tail& tail = result.tail.emplace();
  tail.event = absl::StrCat(claim.figure, " >= ", least);
  tail.hits = static_cast<int>(hits);
  const Interval alone = ProbabilityInterval(trials, hits, 0.025);
  tail.low95 = alone.low;
  tail.high95 = alone.high;
  result.ci95 = std::max(hits / trials - tail.low95, tail.high95 - hits / trials);
  Reading figure{.value = hits / trials, .trials = static_cast<int>(trials)};
  figure.interval = [trials, hits](double error) {
    return ProbabilityInterval(trials, hits, error);
  };
  result.all = [trials](double error) { return ProbabilityInterval(trials, trials, error); };
  return figure;
}

Reading MeanFigure(const CircuitClaim& claim, const std::vector<double>& values,
                   CircuitClaimResult& result) {
  const Estimate estimate = EstimateMean(values);
  Reading figure = BySeeds(estimate);
  result.ci95 = estimate.HalfWidth(0.95);
  if (!claim.fraction_of_requests) return figure;
  const double requests = static_cast<double>(values.size()) * result.point.rows();
  const double spread = std::sqrt(result.theory * (1 - result.theory) / requests);
  figure.interval = [estimate, spread](double error) {
    const boost::math::normal normal;
    const double half =
        std::max(estimate.HalfWidth(1 - 2 * error),
                 boost::math::quantile(boost::math::complement(normal, error)) * spread);
    return Interval{estimate.mean - half, estimate.mean + half};
  };
  return figure;
}

// Of a statement about every trial: the value that breaks it most, or keeps it by the least.
double WorstOf(Relation relation, double theory, const std::vector<double>& values) {
  if (relation == Relation::kAtMost) return *std::max_element(values.begin(), values.end());
  if (relation == Relation::kAtLeast) return *std::min_element(values.begin(), values.end());
  return *std::max_element(values.begin(), values.end(), [&](double a, double b) {
    return std::fabs(a - theory) < std::fabs(b - theory);
  });
}

}  // namespace

std::vector<double> CircuitMeasurement::Values(const std::string& figure) const {
  std::vector<double> values;
  for (const Trial& trial : trials) values.push_back(FigureOf(trial, figure));
  return values;
}

CircuitClaimResult Examine(const CircuitClaim& claim, const CircuitMeasurement& measurement) {
  CircuitClaimResult result{.id = claim.id,
                            .statement = claim.statement,
                            .source = claim.source,
                            .point = measurement.point,
                            .reason = WhyNot(claim, measurement.point),
                            .relation = claim.relation,
                            .slack = 1e-10,
                            .invariant = claim.invariant};
  if (!result.reason.empty()) return result;
  std::vector<double> values = measurement.Values(claim.figure);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  result.trials = static_cast<int>(values.size());
  result.theory = claim.theory(measurement.point);
  if (values.empty()) {
    result.reason = "no trial ended by itself";
    return result;
  }
  Reading figure = claim.at_least ? TailFigure(claim, values, result)
                   : claim.mean
                       ? MeanFigure(claim, values, result)
                       : Exactly(WorstOf(claim.relation, result.theory, values), result.trials);
  result.measured = figure.value;
  result.interval = std::move(figure.interval);
  if (claim.vacuous) result.reason = claim.vacuous(measurement.point);
  if (!result.reason.empty()) {
    result.verdict = Verdict::kVacuous;
    return result;
  }
  result.reason = figure.doubt;
  result.open = figure.doubt.empty();
  return result;
}

std::string WhyNot(const CircuitClaim& claim, const CircuitPoint& point) {
  const std::string reason = claim.about(point);
  return reason.empty() && claim.not_applicable ? claim.not_applicable(point) : reason;
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
