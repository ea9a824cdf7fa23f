// SPDX-License-Identifier: Apache-2.0
// Statements about the probability that a figure is large. A bound that is 1 or more is vacuous;
// its row says so and gives the measured value. A bound with an o(1) in the exponent is vacuous at
// every size; it is shown without the o(1).
#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "control/measure/circuits/circuit_claim_parts.h"

namespace bfly::control {
namespace {

constexpr double kSaysSomething = 0.5;

// The bound for `links` links, if each has C or more paths with probability at most `share`^C / C!.
double UnionBound(double links, double share, int load) {
  return links * std::pow(share, load) / Factorial(load);
}
// The least load at which the bound is at most a half.
int LoadOfUnionBound(double links, double share) {
  int load = 1;
  while (UnionBound(links, share, load) > kSaysSomething) ++load;
  return load;
}

using Links = double (*)(double n, int d);

// P(figure >= C) <= links share^C / C! for the least C at which the bound is at most a half.
Claim UnionTail(const std::string& protocol, const std::string& permutation,
                const std::string& figure, const char* form, const std::string& source, Links links,
                double share) {
  const auto load = [links, share](const CircuitPoint& point) {
    return LoadOfUnionBound(links(point.rows(), point.d), share);
  };
  const auto about = [protocol, permutation](const CircuitPoint& point) {
    const bool any = permutation.empty();
    if (!any && point.permutation != permutation) {
      return absl::StrCat("is about ", protocol, " ", permutation);
    }
    return Only(protocol)(point);
  };
  return InProbability({.id = absl::StrCat(protocol, "_", figure, "_tail"),
                        .statement = absl::StrCat("P(", figure, " >= C) <= ", form,
                                                  ", for the least C where that is at most 1/2"),
                        .source = source,
                        .relation = Relation::kAtMost,
                        .theory =
                            [links, share, load](const CircuitPoint& point) {
                              const double all = links(point.rows(), point.d);
                              return UnionBound(all, share, load(point));
                            },
                        .about = about},
                       figure, load);
}

// A claim with a bound n^(exponent + o(1)).
Claim PowerTail(const char* id, const char* protocol, const char* statement, const char* source,
                const char* figure, const CircuitValue& at_least, const CircuitValue& exponent) {
  const auto theory = [exponent](const CircuitPoint& point) {
    return std::exp2(exponent(point) * point.d);
  };
  const auto vacuous = [exponent](const CircuitPoint& point) {
    const double e = exponent(point);
    return e >= 0 ? absl::StrFormat("n^(%.3g+o(1)) is not a bound", e)
                  : absl::StrFormat("n^(%.3g+o(1)), the o(1) is not known", e);
  };
  return InProbability({.id = id,
                        .statement = statement,
                        .source = absl::StrCat(kCole, ", ", source),
                        .relation = Relation::kAtMost,
                        .theory = theory,
                        .about = Only(protocol),
                        .vacuous = vacuous},
                       figure, at_least);
}

// The last sum in the proof of Theorem 3.1 has no o(1): n cbar^(2 kappa t) c 2^(cbar^t) (d/n)^kappa
// with cbar^t = log(n/d) and kappa = ceil(cbar/2).
double SumOfTheorem31(const CircuitPoint& point) {
  const double n = point.rows(), kappa = std::ceil(point.c_disk / 2.0);
  const double log = std::log2(n / point.d);
  return n * std::pow(log, 2 * kappa) * point.c * (n / point.d) * std::pow(point.d / n, kappa);
}

Claim Theorem31() {
  const auto vacuous = [](const CircuitPoint& point) {
    const double sum = SumOfTheorem31(point);
    return sum >= 1 ? absl::StrFormat("the proof's own sum is %.3g", sum) : std::string();
  };
  const auto least = [](const CircuitPoint& point) {
    const double t =
        std::log2(std::log2(point.rows() / static_cast<double>(point.d))) / std::log2(point.c_disk);
    return std::floor(t) + 1;  // the least number of rounds above t
  };
  return InProbability(
      {.id = "theorem_3_1_tail",
       .statement = "P(rounds > log_cbar log(n / log n)) <= n^(-cbar/2+1+o(1))",
       .source = absl::StrCat(kCole, ", Theorem 3.1, as the last sum of its proof"),
       .relation = Relation::kAtMost,
       .theory = SumOfTheorem31,
       .about = Only("data_server_collision"),
       .vacuous = vacuous},
      "rounds", least);
}

}  // namespace

std::vector<Claim> TailClaims() {
  const std::string lemma = absl::StrCat(kCole, ", Lemma 2.4 (union bound)");
  // Half of the requests that can reach a link leave by the node's other link. 2^k inputs reach a
  // link of transition k, and it leads to n / 2^(k+1) outputs. So C given paths all cross it with
  // probability 2^(-(k+1)C) at most, and there are at most 2^(kC) / C! ways to choose C of 2^k
  // inputs.
  const std::string counted = "union bound over links and sets of C requests; counted";
  const Links once = [](double n, int d) { return 2 * n * d; };
  const Links twice = [](double n, int d) { return 4 * n * d; };
  return {
      PowerTail(
          "theorem_2_1_tail", "collision",
          "P(rounds > ceil(log_c log_(1+eps) n + 2)) <= n^(-c/4+1+o(1))",
          "Theorem 2.1 (the t of its proof, a whole number)", "rounds",
          [](const CircuitPoint& point) { return CollisionRoundBound(point.d, point.c) + 1; },
          [](const CircuitPoint& point) { return 1 - point.c / 4.0; }),
      UnionTail("collision", "", "candidate_congestion", "2 n log n / C!", lemma, once, 1),
      PowerTail(
          "theorem_2_5_tail", "minimum",
          "P(congestion > 4 ceil(loglog n)) <= n^(-ceil(loglog n)/6+1+o(1))", "Theorem 2.5",
          "congestion",
          [](const CircuitPoint& point) { return MinimumCongestionBound(point.d) + 1; },
          [](const CircuitPoint& point) { return 1 - MinimumCongestionBound(point.d) / 24; }),
      UnionTail("minimum", "", "congestion", "2 n log n / C!",
                absl::StrCat(lemma, ": one of each two candidates is chosen"), once, 1),
      UnionTail("one_choice", "", "congestion", "2 n log n / (2^C C!)",
                absl::StrCat(lemma, ", each candidate chosen with probability 1/2"), once, 0.5),
      UnionTail("valiant", "", "congestion", "4 n log n / (2^C C!)", counted, twice, 0.5),
      UnionTail("greedy", "random", "congestion", "2 n log n / (2^C C!)", counted, once, 0.5),
      UnionTail("data_server_single_copy", "", "congestion", "2 n log n / (2^C C!)", counted, once,
                0.5),
      UnionTail(
          "data_server_single_copy", "", "disk_contention", "n / C!",
          "union bound over disks and sets of C requests; counted", [](double n, int) { return n; },
          1),
      Theorem31(),
  };
}

}  // namespace bfly::control
