// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/packet_claims.h"

#include <algorithm>

#include "control/measure/packets/conditions.h"

namespace bfly::control {

Estimate DelayOf(const Measurement& measurement) { return measurement.Over(&Trial::mean_delay); }

Estimate GrowthOf(const Measurement& measurement) {
  return measurement.Over([](const Trial& t) { return t.offered - t.accepted; });
}

bool IsSaturated(const Measurement& measurement) {
  const PacketPoint& point = measurement.point;
  // The permutations of different seeds load links differently. One overloaded link in one of them
  // is enough.
  double use = 0;
  for (const Trial& trial : measurement.trials) {
    if (trial.unfinished > 0) return true;
    use = std::max(use, point.load * trial.figure("worst_link"));
  }
  const bool first_copy_is_full =
      point.pattern.empty() && point.some_link_carries_lambda() && point.lambda() >= 1;
  if (use > 1 || first_copy_is_full || (HasLoadFactor(point).empty() && point.rho >= 1))
    return true;
  if (measurement.Over(&Trial::accepted).mean < 0.97 * measurement.Over(&Trial::offered).mean) {
    return true;
  }
  const Estimate more = GrowthOf(measurement);
  return more.standard_error > 0 && more.mean > more.HalfWidth(1 - 2e-4);
}

const std::vector<Claim>& PacketClaims() {
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

}  // namespace bfly::control
