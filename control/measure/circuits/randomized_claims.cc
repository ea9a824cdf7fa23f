// SPDX-License-Identifier: Apache-2.0
// Statements of Cole et al. 1998 about their own protocols.
#include "control/measure/circuits/circuit_claim_parts.h"

namespace bfly::control {
namespace {

Claim CandidatesAtLeast(int load) {
  return InTheMeanOfCounts(
      {.id = absl::StrCat("lemma_2_4_load_", load),
       .statement = absl::StrCat("at most 2 n log n / ", load, "! collision links are crossed by ",
                                 load, " or more candidate paths, in expectation"),
       .source = absl::StrCat(kCole, ", Lemma 2.4 (union bound)"),
       .relation = Relation::kAtMost,
       .theory =
           [load](const CircuitPoint& point) {
             return 2.0 * point.rows() * point.d / Factorial(load);
           },
       .about = Only("collision")},
      absl::StrCat("candidates_", load));
}

// A bound that a protocol's own rule guarantees in every trial in which no request is left over.
Claim RuleBound(const char* id, const char* statement, const char* statement_of,
                const char* protocol, CircuitValue theory, const char* figure) {
  return InEveryTrial({.id = id,
                       .statement = statement,
                       .source = absl::StrCat(kCole, ", ", statement_of),
                       .relation = Relation::kAtMost,
                       .theory = std::move(theory),
                       .about = Only(protocol),
                       .invariant = true},
                      figure);
}

// A value from a proof whose probability bounds nothing at the sizes that are run. A trial beyond
// the value would contradict no theorem.
Claim ValueOfProof(const char* id, const char* statement, const char* statement_of,
                   const char* protocol, CircuitValue theory, const char* figure,
                   CircuitReason not_applicable) {
  return InEveryTrial(
      {.id = id,
       .statement = statement,
       .source = absl::StrCat(kCole, ", ", statement_of),
       .relation = Relation::kAtMost,
       .not_applicable = std::move(not_applicable),
       .theory = std::move(theory),
       .about = Only(protocol),
       .vacuous =
           [](const CircuitPoint&) { return "the theorem bounds its probability at no finite n"; }},
      figure);
}

double CollisionRounds(const CircuitPoint& point) { return CollisionRoundBound(point.d, point.c); }
double PathsOfALink(const CircuitPoint& point) { return point.c; }
double PathsOfADisk(const CircuitPoint& point) { return point.c_disk; }

std::vector<Claim> TwoPathClaims() {
  const std::string two_paths = absl::StrCat(kCole, ", section 2.1; counted");
  return {
      RuleBound("collision_congestion", "congestion <= c when the protocol ends by itself",
                "section 2.1", "collision", PathsOfALink, "congestion_if_ended"),
      ValueOfProof(
          "collision_rounds", "at most ceil(log_c log_(1+eps) n + 2) rounds, c! = (1+eps) log n",
          "Theorem 2.1 (the t of its proof)", "collision", CollisionRounds, "rounds_if_ended",
          [](const CircuitPoint& point) {
            return std::isnan(CollisionRounds(point)) ? "needs c! > log n" : "";
          }),
      InEveryTrial(
          {.id = "candidate_mean_load",
           .statement =
               "the candidate paths load each collision transition by 1 in the mean, exactly",
           .source = two_paths,
           .theory = Constant(0),
           .about = Only("collision"),
           .invariant = true},
          "candidate_mean_error"),
      InEveryTrial(
          {.id = "candidate_random_levels",
           .statement = "every link outside the collision transitions has one candidate path",
           .source = two_paths,
           .not_applicable =
               [](const CircuitPoint& point) { return point.d < 2 ? "there is no such link" : ""; },
           .theory = Constant(1),
           .about = Only("collision"),
           .invariant = true},
          "candidate_random_load"),
      CandidatesAtLeast(8),
      CandidatesAtLeast(9),
      CandidatesAtLeast(10),
      ValueOfProof(
          "minimum_congestion", "congestion <= 4 ceil(loglog n)",
          "Theorem 2.5 (the 4c of its proof)", "minimum",
          [](const CircuitPoint& point) { return MinimumCongestionBound(point.d); }, "congestion",
          [](const CircuitPoint& point) { return point.d < 2 ? "loglog n is 0" : ""; }),
  };
}

std::vector<Claim> DataServerClaims() {
  return {
      RuleBound("data_server_congestion", "congestion <= c when the protocol ends by itself",
                "section 3.1", "data_server_collision", PathsOfALink, "congestion_if_ended"),
      RuleBound("data_server_contention",
                "disk contention <= c_disk when the protocol ends by itself", "section 3.1",
                "data_server_collision", PathsOfADisk, "disk_contention_if_ended"),
      ValueOfProof("data_server_rounds", "at most 3 rounds with c = c_disk = 5",
                   "Theorem 3.1, at finite n", "data_server_collision", Constant(3), "rounds",
                   [](const CircuitPoint& point) {
                     return point.c != 5 || point.c_disk != 5 ? "is about c = c_disk = 5" : "";
                   }),
  };
}

}  // namespace

double CollisionRoundBound(int d, uint32_t c) {
  const double one_plus_eps = Factorial(static_cast<int>(c)) / d;
  if (c < 2 || one_plus_eps <= 1) return std::nan("");
  const double inner = d / std::log2(one_plus_eps);  // log_(1+eps) n
  return std::ceil(std::max(0.0, std::log2(inner) / std::log2(c)) + 2);
}

double MinimumCongestionBound(int d) { return 4 * std::ceil(std::log2(d)); }

std::vector<Claim> RandomizedClaims() {
  std::vector<Claim> claims = TwoPathClaims();
  const std::vector<Claim> server = DataServerClaims();
  claims.insert(claims.end(), server.begin(), server.end());
  return claims;
}

}  // namespace bfly::control
