// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/circuit_claims.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/protocols/q_limited.h"

namespace bfly::control {
namespace {

using Reason = std::function<std::string(const CircuitPoint&)>;
using Theory = std::function<double(const CircuitPoint&)>;

constexpr char kCole[] = "Cole et al. 1998";
constexpr char kIfEnded[] = "_if_ended";

Reason Only(const std::string& protocol) {
  return [protocol](const CircuitPoint& point) {
    return point.protocol == protocol ? "" : absl::StrCat("is about ", protocol);
  };
}

// Greedy routing of one permutation on B_n.
Reason OnlyGreedy(const std::string& permutation) {
  return [permutation](const CircuitPoint& point) {
    if (point.protocol == "greedy" && point.permutation == permutation) return std::string();
    return absl::StrCat("is about greedy, permutation ", permutation);
  };
}

Theory Constant(double value) {
  return [value](const CircuitPoint&) { return value; };
}

double Factorial(int k) { return std::tgamma(k + 1); }

CircuitClaim CandidatesAtLeast(int load) {
  return {
      .id = absl::StrCat("lemma_2_4_load_", load),
      .statement = absl::StrCat("at most 2 n log n / ", load, "! collision links are crossed by ",
                                load, " or more candidate paths, in expectation"),
      .source = absl::StrCat(kCole, ", Lemma 2.4 (union bound)"),
      .relation = Relation::kAtMost,
      .not_applicable = Only("collision"),
      .theory =
          [load](const CircuitPoint& point) {
            return 2.0 * point.rows() * point.d / Factorial(load);
          },
      .figure = absl::StrCat("candidates_", load),
      .mean = true};
}

std::vector<CircuitClaim> MakeClaims() {
  const std::string two_paths = absl::StrCat(kCole, ", section 2.2");
  std::vector<CircuitClaim> claims = {
      {.id = "collision_congestion",
       .statement = "congestion <= c when the protocol ends by itself",
       .source = absl::StrCat(kCole, ", section 2.1"),
       .relation = Relation::kAtMost,
       .not_applicable = Only("collision"),
       .theory = [](const CircuitPoint& point) { return point.c; },
       .figure = "congestion_if_ended"},
      {.id = "candidate_mean_load",
       .statement = "the candidate paths load each collision transition by 1 in the mean, exactly",
       .source = two_paths,
       .relation = Relation::kEqual,
       .not_applicable = Only("collision"),
       .theory = Constant(0),
       .figure = "candidate_mean_error"},
      {.id = "candidate_random_levels",
       .statement = "every link outside the collision transitions has one candidate path",
       .source = two_paths,
       .relation = Relation::kEqual,
       .not_applicable =
           [](const CircuitPoint& point) {
             std::string reason = Only("collision")(point);
             return reason.empty() && point.d < 2 ? "there is no such link" : reason;
           },
       .theory = Constant(1),
       .figure = "candidate_random_load"},
      CandidatesAtLeast(8),
      CandidatesAtLeast(9),
      CandidatesAtLeast(10),
      {.id = "benes_congestion",
       .statement = "the looping algorithm finds paths that share no link",
       .source = "Waksman 1968; Cole et al. 1998, section 1.3",
       .relation = Relation::kEqual,
       .not_applicable = Only("benes"),
       .theory = Constant(1),
       .figure = "congestion"},
      {.id = "greedy_bitrev",
       .statement = "bit reversal loads some link of B_n with exactly 2^(ceil(d/2)-1) paths",
       .source = absl::StrCat(kCole, ", section 1; counted"),
       .relation = Relation::kEqual,
       .not_applicable = OnlyGreedy("bitrev"),
       .theory = [](const CircuitPoint& point) { return std::exp2((point.d + 1) / 2 - 1); },
       .figure = "congestion"},
      {.id = "greedy_transpose",
       .statement =
           "transpose loads some link of B_n with exactly 2^(floor(d/2)-1) paths, at least 1",
       .source = absl::StrCat(kCole, ", section 1; counted"),
       .relation = Relation::kEqual,
       .not_applicable = OnlyGreedy("transpose"),
       .theory =
           [](const CircuitPoint& point) { return std::max(1.0, std::exp2(point.d / 2 - 1)); },
       .figure = "congestion"},
      {.id = "greedy_identity",
       .statement = "the identity loads every link of B_n with at most one path",
       .source = absl::StrCat(kCole, ", section 1; counted"),
       .relation = Relation::kEqual,
       .not_applicable = OnlyGreedy("identity"),
       .theory = Constant(1),
       .figure = "congestion"},
      {.id = "two_fold_dilation",
       .statement = "every path of BB_n has 2 log n links",
       .source = absl::StrCat(kCole, ", section 2.1"),
       .relation = Relation::kEqual,
       .not_applicable =
           [](const CircuitPoint& point) {
             return point.network == NetworkKind::kTwoFoldButterfly ? "" : "is about BB_n";
           },
       .theory = [](const CircuitPoint& point) { return 2 * point.d; },
       .figure = "dilation"},
      {.id = "lock_down_fraction",
       .statement = "the fraction of n requests that get through, in expectation, exactly",
       .source = "Kruskal & Snir 1983, Koch 1988; recursion over stages",
       .relation = Relation::kEqual,
       .not_applicable = Only("lock_down"),
       .theory = [](const CircuitPoint& point) { return ExpectedLockedFraction(point.d, point.q); },
       .figure = "locked",
       .mean = true,
       .fraction_of_requests = true},
      {.id = "data_server_congestion",
       .statement = "congestion <= c when the protocol ends by itself",
       .source = absl::StrCat(kCole, ", section 3.1"),
       .relation = Relation::kAtMost,
       .not_applicable = Only("data_server_collision"),
       .theory = [](const CircuitPoint& point) { return point.c; },
       .figure = "congestion_if_ended"},
      {.id = "data_server_contention",
       .statement = "disk contention <= c_disk when the protocol ends by itself",
       .source = absl::StrCat(kCole, ", section 3.1"),
       .relation = Relation::kAtMost,
       .not_applicable = Only("data_server_collision"),
       .theory = [](const CircuitPoint& point) { return point.c_disk; },
       .figure = "disk_contention_if_ended"},
      {.id = "data_server_rounds",
       .statement = "at most 3 rounds with c = c_disk = 5",
       .source = absl::StrCat(kCole, ", Theorem 3.1, at finite n"),
       .relation = Relation::kAtMost,
       .not_applicable =
           [](const CircuitPoint& point) {
             std::string reason = Only("data_server_collision")(point);
             return reason.empty() && (point.c != 5 || point.c_disk != 5)
                        ? "is about c = c_disk = 5"
                        : reason;
           },
       .theory = Constant(3),
       .figure = "rounds"},
  };
  return claims;
}

// What the protocols promise holds where no request was left over.
double FigureOf(const Trial& trial, const std::string& figure) {
  const size_t condition = figure.find(kIfEnded);
  if (condition == std::string::npos) return trial.figure(figure);
  return trial.figure("left") > 0 ? std::nan("") : trial.figure(figure.substr(0, condition));
}

}  // namespace

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
                            .reason = claim.not_applicable(measurement.point)};
  if (!result.reason.empty()) return result;
  std::vector<double> values = measurement.Values(claim.figure);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  result.trials = static_cast<int>(values.size());
  result.theory = claim.theory(measurement.point);
  double slack = 0;
  if (values.empty()) {
    result.reason = "no trial ended by itself";
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
  result.verdict = VerdictOf(claim.relation, result.theory, result.measured, slack);
  return result;
}

const std::vector<CircuitClaim>& CircuitClaims() {
  static const std::vector<CircuitClaim> claims = MakeClaims();
  return claims;
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
