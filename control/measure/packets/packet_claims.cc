// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/packet_claims.h"

#include <algorithm>

#include "control/measure/packets/conditions.h"

namespace bfly::control {

Estimate DelayOf(const Measurement& measurement) { return measurement.Over(&Trial::mean_delay); }

Estimate GrowthOf(const Measurement& measurement) {
  return measurement.Over([](const Trial& t) { return t.offered - t.accepted; });
}

double MostUseOf(const Measurement& measurement) {
  const PacketPoint& point = measurement.point;
  if (point.pattern.empty()) return UseOf(point, 0);
  double use = 0;
  for (const Trial& trial : measurement.trials) {
    use = std::max(use, UseOf(point, trial.figure("worst_link")));
  }
  return use;
}

std::string WhyStillFilling(const Measurement& measurement) {
  return Unless(!StillFills(PointOf(measurement), MostUseOf(measurement)),
                "the busiest link is offered so nearly a packet a unit that its queue still fills "
                "after the warm-up");
}

bool IsSaturated(const Measurement& measurement) {
  const PacketPoint& point = measurement.point;
  for (const Trial& trial : measurement.trials) {
    if (trial.unfinished > 0) return true;
  }
  // One overloaded link in one of the permutations is enough.
  const bool overloaded = !point.pattern.empty() && MostUseOf(measurement) > 1;
  const bool first_copy_is_full =
      point.pattern.empty() && point.some_link_carries_lambda() && point.lambda() >= 1;
  if (overloaded || first_copy_is_full || (HasLoadFactor(point).empty() && point.rho >= 1))
    return true;
  if (measurement.Over(&Trial::accepted).mean < 0.97 * measurement.Over(&Trial::offered).mean) {
    return true;
  }
  if (!WhyStillFilling(measurement).empty()) return false;
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
    for (Claim& claim : claims) {
      if (!claim.stationary) continue;
      if (claim.undecided) {
        claim.undecided = AllOf(WhyStillFilling, claim.undecided);
      } else {
        claim.undecided = WhyStillFilling;
      }
    }
    return claims;
  }();
  return all;
}

}  // namespace bfly::control
