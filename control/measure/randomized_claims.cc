// SPDX-License-Identifier: Apache-2.0
// Statements of Cole et al. 1998 about their own protocols.
#include "control/measure/circuit_claim_parts.h"

namespace bfly::control {
namespace {

CircuitClaim CandidatesAtLeast(int load) {
  return {
      .id = absl::StrCat("lemma_2_4_load_", load),
      .statement = absl::StrCat("at most 2 n log n / ", load, "! collision links are crossed by ",
                                load, " or more candidate paths, in expectation"),
      .source = absl::StrCat(kCole, ", Lemma 2.4 (union bound)"),
      .relation = Relation::kAtMost,
      .about = Only("collision"),
      .theory =
          [load](const CircuitPoint& point) {
            return 2.0 * point.rows() * point.d / Factorial(load);
          },
      .figure = absl::StrCat("candidates_", load),
      .mean = true};
}

// What no request left over and the protocol's own rule guarantee.
CircuitClaim Kept(const char* id, const char* statement, const char* statement_of,
                  const char* protocol, CircuitValue theory, const char* figure) {
  return {.id = id,
          .statement = statement,
          .source = absl::StrCat(kCole, ", ", statement_of),
          .relation = Relation::kAtMost,
          .about = Only(protocol),
          .theory = std::move(theory),
          .figure = figure,
          .invariant = true};
}

// A value that the proof gives with a probability which bounds nothing at the sizes that are run: a
// trial beyond it would contradict no theorem.
CircuitClaim ValueOfProof(const char* id, const char* statement, const char* statement_of,
                          const char* protocol, CircuitValue theory, const char* figure) {
  return {
      .id = id,
      .statement = statement,
      .source = absl::StrCat(kCole, ", ", statement_of),
      .relation = Relation::kAtMost,
      .about = Only(protocol),
      .vacuous =
          [](const CircuitPoint&) { return "the theorem bounds its probability at no finite n"; },
      .theory = std::move(theory),
      .figure = figure};
}

std::vector<CircuitClaim> CollisionClaims() {
  const std::string two_paths = absl::StrCat(kCole, ", section 2.1; counted");
  CircuitClaim rounds = ValueOfProof(
      "collision_rounds", "at most log_c log_(1+eps) n + 2 rounds, c! = (1+eps) log n",
      "Theorem 2.1 (the t of its proof)", "collision",
      [](const CircuitPoint& point) { return CollisionRoundBound(point.d, point.c); },
      "rounds_if_ended");
  rounds.not_applicable = [](const CircuitPoint& point) {
    return std::isnan(CollisionRoundBound(point.d, point.c)) ? "needs c! > log n" : "";
  };
  return {
      Kept(
          "collision_congestion", "congestion <= c when the protocol ends by itself", "section 2.1",
          "collision", [](const CircuitPoint& point) { return point.c; }, "congestion_if_ended"),
      rounds,
      {.id = "candidate_mean_load",
       .statement = "the candidate paths load each collision transition by 1 in the mean, exactly",
       .source = two_paths,
       .relation = Relation::kEqual,
       .about = Only("collision"),
       .theory = Constant(0),
       .figure = "candidate_mean_error",
       .invariant = true},
      {.id = "candidate_random_levels",
       .statement = "every link outside the collision transitions has one candidate path",
       .source = two_paths,
       .relation = Relation::kEqual,
       .about = Only("collision"),
       .not_applicable =
           [](const CircuitPoint& point) { return point.d < 2 ? "there is no such link" : ""; },
       .theory = Constant(1),
       .figure = "candidate_random_load",
       .invariant = true},
      CandidatesAtLeast(8),
      CandidatesAtLeast(9),
      CandidatesAtLeast(10),
  };
}

std::vector<CircuitClaim> DataServerClaims() {
  CircuitClaim rounds =
      ValueOfProof("data_server_rounds", "at most 3 rounds with c = c_disk = 5",
                   "Theorem 3.1, at finite n", "data_server_collision", Constant(3), "rounds");
  rounds.not_applicable = [](const CircuitPoint& point) {
    return point.c != 5 || point.c_disk != 5 ? "is about c = c_disk = 5" : "";
  };
  return {
      Kept(
          "data_server_congestion", "congestion <= c when the protocol ends by itself",
          "section 3.1", "data_server_collision", [](const CircuitPoint& point) { return point.c; },
          "congestion_if_ended"),
      Kept(
          "data_server_contention", "disk contention <= c_disk when the protocol ends by itself",
          "section 3.1", "data_server_collision",
          [](const CircuitPoint& point) { return point.c_disk; }, "disk_contention_if_ended"),
      rounds,
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

std::vector<CircuitClaim> RandomizedClaims() {
  std::vector<CircuitClaim> claims = CollisionClaims();
  CircuitClaim minimum = ValueOfProof(
      "minimum_congestion", "congestion <= 4 ceil(loglog n)", "Theorem 2.5 (the 4c of its proof)",
      "minimum", [](const CircuitPoint& point) { return MinimumCongestionBound(point.d); },
      "congestion");
  minimum.not_applicable = [](const CircuitPoint& point) {
    return point.d < 2 ? "loglog n is 0" : "";
  };
  claims.push_back(std::move(minimum));
  const std::vector<CircuitClaim> server = DataServerClaims();
  claims.insert(claims.end(), server.begin(), server.end());
  return claims;
}

}  // namespace bfly::control
