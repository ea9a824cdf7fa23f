// SPDX-License-Identifier: Apache-2.0
#include "control/measure/survival/survival_claims.h"

#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "control/measure/circuits/circuit_claim_parts.h"
#include "control/measure/survival/survival_point.h"

namespace bfly::control {
namespace {

// The claim is about points with these faults for which `is_about` holds, and applies where the
// file lists no other faults.
Claim AboutFaults(Claim claim, const std::string& faults, const std::string& networks,
                  const std::function<bool(const SurvivalPoint&)>& is_about) {
  claim.about = [=](const SurvivalPoint& point) -> std::string {
    if (point.faults == faults && is_about(point)) return "";
    return "is about faults: " + faults + " on " + networks;
  };
  claim.not_applicable = [](const SurvivalPoint& point) -> std::string {
    return point.lists ? "the file lists other faults besides" : "";
  };
  return claim;
}

// Reads the mean of a fraction. At rate 0 nothing is random, and SeedsAt may leave a single seed.
Claim InTheMeanOfFaults(Claim claim, const std::string& figure) {
  claim = InTheMeanOfFractions(std::move(claim), figure);
  claim.measured = [mean = claim.measured](const Measurement& m) {
    const SurvivalPoint& point = m.point;
    Reading reading = mean(m);
    const bool is_exact = point.rate == 0 && reading.trials > 0;
    return is_exact ? Exactly(reading.value, reading.trials) : reading;
  };
  return claim;
}

bool IsPlainOrDilated(const SurvivalPoint& point) {
  return point.network == NetworkKind::kButterfly ||
         point.network == NetworkKind::kRandomlyWiredButterfly ||
         point.network == NetworkKind::kDilatedButterfly;
}

double NodeSurvival(const SurvivalPoint& point) { return std::pow(1 - point.rate, point.d + 1); }

// A hop survives unless all parallel links of its direction are down.
double LinkSurvival(const SurvivalPoint& point) {
  return std::pow(1 - std::pow(point.rate, point.multiplicity), point.d);
}

double TwoPathsSurvive(const SurvivalPoint& point) {
  const double lost = 1 - std::pow(1 - point.rate, 2 * point.d);
  return 1 - lost * lost;
}

// On a multibutterfly with several paths a pair, the switch that an odd count leaves over cuts off
// the inputs whose paths all go through it, and the wiring says how many these are. On a wrapped
// butterfly of two rows the switches before the outputs are inputs and outputs themselves.
bool AdversaryIsExact(const SurvivalPoint& point) {
  if (point.network == NetworkKind::kWrappedButterfly) return point.d > 1;
  return point.network != NetworkKind::kMultibutterfly || point.has_single_paths() ||
         point.count % 2 == 0;
}

double LeftByAdversary(const SurvivalPoint& point) {
  const uint32_t taken = point.has_single_paths() ? point.count : point.count / 2 * 2;
  return 1 - static_cast<double>(taken) / point.rows();
}

std::vector<Claim> MakeSurvivalClaims() {
  return {
      InTheMeanOfFaults(
          AboutFaults({.id = "node_survival",
                       .statement = "a pair with one path survives faults of nodes with "
                                    "probability (1-f)^(d+1)",
                       .source = "derived: d+1 nodes on a path, each up with 1-f",
                       .theory = NodeSurvival},
                      "nodes", "butterflies and dilated butterflies", IsPlainOrDilated),
          "survival"),
      InTheMeanOfFaults(
          AboutFaults({.id = "link_survival",
                       .statement = "a pair with one path, of m parallel links a hop, "
                                    "survives faults of links with probability (1-f^m)^d",
                       .source = "derived: d hops on a path, each of m links",
                       .theory = LinkSurvival},
                      "links", "butterflies and dilated butterflies", IsPlainOrDilated),
          "survival"),
      InTheMeanOfFaults(
          AboutFaults({.id = "two_path_survival",
                       .statement = "one of the two paths of a request on BB_n survives "
                                    "faults of links with probability 1-(1-(1-f)^(2d))^2",
                       .source = "derived: p and p' share no link",
                       .theory = TwoPathsSurvive},
                      "links", "BB_n",
                      [](const SurvivalPoint& point) {
                        return point.network == NetworkKind::kTwoFoldButterfly;
                      }),
          "two_path_survival"),
      InTheMeanOfFaults(
          AboutFaults(
              {.id = "survival_ceiling",
               .statement = "on no network a pair survives faults of nodes with a "
                            "probability above (1-f)^2",
               .source = "derived: both ends must be up",
               .relation = Relation::kAtMost,
               .theory =
                   [](const SurvivalPoint& point) { return (1 - point.rate) * (1 - point.rate); }},
              "nodes", "networks with different nodes at their ends",
              [](const SurvivalPoint& point) {
                return point.network != NetworkKind::kWrappedButterfly;
              }),
          "survival"),
      InEveryTrial(
          AboutFaults({.id = "adversary_cuts_off",
                       .statement = "k switches before the outputs cut off n pairs each; with "
                                    "several paths a pair, an odd one is taken in vain",
                       .source = "derived: two switches are before each pair of outputs",
                       .theory = LeftByAdversary},
                      "adversary",
                      "every network but wrapped butterflies of two rows, and on multibutterflies "
                      "of multiplicity 2 or more with an even count only",
                      AdversaryIsExact),
          "survival"),
  };
}

}  // namespace

const std::vector<Claim>& SurvivalClaims() {
  static const std::vector<Claim> claims = MakeSurvivalClaims();
  return claims;
}

}  // namespace bfly::control
