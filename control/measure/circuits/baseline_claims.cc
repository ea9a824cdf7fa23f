// SPDX-License-Identifier: Apache-2.0
// Statements about the protocols with which those of Cole et al. 1998 are compared.
#include <algorithm>

#include "control/measure/circuits/circuit_claim_parts.h"
#include "control/protocols/q_limited.h"

namespace bfly::control {
namespace {

// A claim about greedy routing of one permutation on B_n.
Claim Greedy(const std::string& permutation, const char* statement, CircuitValue theory) {
  const auto about = [permutation](const CircuitPoint& point) {
    if (point.permutation != permutation) {
      return absl::StrCat("is about greedy, permutation ", permutation);
    }
    return Only("greedy")(point);
  };
  return InEveryTrial({.id = absl::StrCat("greedy_", permutation),
                       .statement = statement,
                       .source = absl::StrCat(kCole, ", section 1; counted"),
                       .theory = std::move(theory),
                       .about = about,
                       // Every path of the identity is the straight path.
                       .invariant = permutation == "identity"},
                      "congestion");
}

double LockedFraction(const CircuitPoint& point) {
  return ExpectedLockedFraction(point.d, point.q);
}

std::vector<Claim> LimitedClaims() {
  return {
      InTheMeanOfRequests(
          {.id = "lock_down_fraction",
           .statement = "the fraction of n requests that get through, in expectation, exactly",
           .source = "Kruskal & Snir 1983, Koch 1988; recursion over stages",
           .theory = LockedFraction,
           .about = Only("lock_down")},
          "locked"),
      InEveryTrial({.id = "q_limited_congestion",
                    .statement = "no link carries more than q circuits",
                    .source = absl::StrCat(kCole, ", section 1.3 (the model of Maggs & Sitaraman)"),
                    .relation = Relation::kAtMost,
                    .theory = [](const CircuitPoint& point) { return point.q; },
                    .about = Only("q_limited"),
                    .invariant = true},
                   "congestion"),
      InTheMeanOfRequests(
          {.id = "two_passes_lose_more",
           .statement =
               "two passes get at most the fraction through that one pass does: the first pass has "
               "independent uniform destinations",
           .source = "Kruskal & Snir 1983, Koch 1988 for the first pass; exact recursion",
           .relation = Relation::kAtMost,
           .theory = LockedFraction,
           .about = Only("q_limited")},
          "locked"),
  };
}

}  // namespace

std::vector<Claim> BaselineClaims() {
  std::vector<Claim> claims = {
      InEveryTrial({.id = "benes_congestion",
                    .statement = "the looping algorithm finds paths that share no link",
                    .source = "Waksman 1968; Cole et al. 1998, section 1.3",
                    .theory = Constant(1),
                    .about = Only("benes"),
                    .invariant = true},
                   "congestion"),
      Greedy("bitrev", "bit reversal loads some link of B_n with exactly 2^(ceil(d/2)-1) paths",
             [](const CircuitPoint& point) { return std::exp2((point.d + 1) / 2 - 1); }),
      Greedy("transpose",
             "transpose loads some link of B_n with exactly 2^(floor(d/2)-1) paths, at least 1",
             [](const CircuitPoint& point) { return std::max(1.0, std::exp2(point.d / 2 - 1)); }),
      Greedy("identity", "the identity loads every link of B_n with at most one path", Constant(1)),
      InEveryTrial(
          {.id = "flip_first_copy",
           .statement = "the flip network, the first copy, carries at most one path a link",
           .source = absl::StrCat(kCole,
                                  ", section 1.3 (Ranade 1987); a switch sends what enters by "
                                  "its two links out by different ones"),
           .theory = Constant(1),
           .about = Only("ranade_flip"),
           .invariant = true},
          "first_copy_congestion"),
      InEveryTrial({.id = "two_fold_dilation",
                    .statement = "every path of BB_n has 2 log n links",
                    .source = absl::StrCat(kCole, ", section 2.1"),
                    .theory = [](const CircuitPoint& point) { return 2 * point.d; },
                    .about =
                        [](const CircuitPoint& point) {
                          const bool two_fold = point.network == NetworkKind::kTwoFoldButterfly;
                          return two_fold ? "" : "is about BB_n";
                        },
                    .invariant = true},
                   "dilation"),
  };
  const std::vector<Claim> limited = LimitedClaims();
  claims.insert(claims.end(), limited.begin(), limited.end());
  return claims;
}

}  // namespace bfly::control
