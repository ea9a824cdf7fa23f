// SPDX-License-Identifier: Apache-2.0
// Statements about the protocols that those of Cole et al. 1998 are measured against.
#include <algorithm>

#include "control/measure/circuit_claim_parts.h"
#include "control/protocols/q_limited.h"

namespace bfly::control {
namespace {

// Greedy routing of one permutation on B_n.
CircuitClaim Greedy(const std::string& permutation, const char* statement, CircuitValue theory) {
  return {.id = absl::StrCat("greedy_", permutation),
          .statement = statement,
          .source = absl::StrCat(kCole, ", section 1; counted"),
          .relation = Relation::kEqual,
          .about =
              [permutation](const CircuitPoint& point) {
                if (point.protocol == "greedy" && point.permutation == permutation) {
                  return std::string();
                }
                return absl::StrCat("is about greedy, permutation ", permutation);
              },
          .theory = std::move(theory),
          .figure = "congestion",
          // Every path of the identity is the straight one.
          .invariant = permutation == "identity"};
}

std::vector<CircuitClaim> LimitedClaims() {
  return {
      {.id = "lock_down_fraction",
       .statement = "the fraction of n requests that get through, in expectation, exactly",
       .source = "Kruskal & Snir 1983, Koch 1988; recursion over stages",
       .relation = Relation::kEqual,
       .about = Only("lock_down"),
       .theory = [](const CircuitPoint& point) { return ExpectedLockedFraction(point.d, point.q); },
       .figure = "locked",
       .mean = true,
       .fraction_of_requests = true},
      {.id = "q_limited_congestion",
       .statement = "no link bears more than q circuits",
       .source = absl::StrCat(kCole, ", section 1.3 (the model of Maggs & Sitaraman)"),
       .relation = Relation::kAtMost,
       .about = Only("q_limited"),
       .theory = [](const CircuitPoint& point) { return point.q; },
       .figure = "congestion",
       .invariant = true},
      {.id = "two_passes_lose_more",
       .statement =
           "two passes get at most the fraction through that one pass does: the first pass has "
           "independent uniform destinations",
       .source = "Kruskal & Snir 1983, Koch 1988 for the first pass; exact recursion",
       .relation = Relation::kAtMost,
       .about = Only("q_limited"),
       .theory = [](const CircuitPoint& point) { return ExpectedLockedFraction(point.d, point.q); },
       .figure = "locked",
       .mean = true,
       .fraction_of_requests = true},
  };
}

}  // namespace

std::vector<CircuitClaim> BaselineClaims() {
  std::vector<CircuitClaim> claims = {
      {.id = "benes_congestion",
       .statement = "the looping algorithm finds paths that share no link",
       .source = "Waksman 1968; Cole et al. 1998, section 1.3",
       .relation = Relation::kEqual,
       .about = Only("benes"),
       .theory = Constant(1),
       .figure = "congestion",
       .invariant = true},
      Greedy("bitrev", "bit reversal loads some link of B_n with exactly 2^(ceil(d/2)-1) paths",
             [](const CircuitPoint& point) { return std::exp2((point.d + 1) / 2 - 1); }),
      Greedy("transpose",
             "transpose loads some link of B_n with exactly 2^(floor(d/2)-1) paths, at least 1",
             [](const CircuitPoint& point) { return std::max(1.0, std::exp2(point.d / 2 - 1)); }),
      Greedy("identity", "the identity loads every link of B_n with at most one path", Constant(1)),
      {.id = "flip_first_copy",
       .statement = "the flip network, the first copy, bears at most one path a link",
       .source = absl::StrCat(kCole,
                              ", section 1.3 (Ranade 1987); a switch sends what enters by "
                              "its two links out by different ones"),
       .relation = Relation::kEqual,
       .about = Only("ranade_flip"),
       .theory = Constant(1),
       .figure = "first_copy_congestion",
       .invariant = true},
      {.id = "two_fold_dilation",
       .statement = "every path of BB_n has 2 log n links",
       .source = absl::StrCat(kCole, ", section 2.1"),
       .relation = Relation::kEqual,
       .about =
           [](const CircuitPoint& point) {
             return point.network == NetworkKind::kTwoFoldButterfly ? "" : "is about BB_n";
           },
       .theory = [](const CircuitPoint& point) { return 2 * point.d; },
       .figure = "dilation",
       .invariant = true},
  };
  const std::vector<CircuitClaim> limited = LimitedClaims();
  claims.insert(claims.end(), limited.begin(), limited.end());
  return claims;
}

}  // namespace bfly::control
