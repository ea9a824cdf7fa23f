// SPDX-License-Identifier: Apache-2.0
// The pipelined scheme of Valiant and Brebner: Stamoulis & Tsitsiklis, section 2.3. A full round is
// one in which every node sends a packet; R = E[full round] / d.
#include <cmath>

#include "control/measure/packets/conditions.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

constexpr char kSource[] = "Stamoulis & Tsitsiklis, section 2.3";

std::string FairBits(const PacketPoint& x) { return Unless(x.p == 0.5, "p is not 1/2"); }

// The load as a part of the boundary load, at which as many packets are born during a full round as
// it carries: lambda E[round] = 2 rho R d.
double Use(const Measurement& m) { return PointOf(m).lambda() * m.Over("full_round").mean; }

Reading AcceptedARound(const Measurement& m) {
  return BySeeds(m.Over([](const Trial& t) { return t.accepted * t.figure("full_round"); }));
}

std::string BelowBoundary(const Measurement& m) {
  return Unless(Use(m) <= 0.95, "the load is above 0.95 of the boundary 1 / (2 R d)");
}
std::string BeyondBoundary(const Measurement& m) {
  return Unless(Use(m) >= 1.05, "the load is below 1.05 of the boundary 1 / (2 R d)");
}

}  // namespace

std::vector<Claim> RoundsClaims() {
  std::vector<Claim> claims = {
      {.id = "vb_round",
       .statement =
           "R = E[round] / d is at least 0.9 for d >= 4, over rounds in which every node sends",
       .source = kSource,
       .relation = Relation::kAtLeast,
       .not_applicable = [](const PacketPoint& x) { return Unless(x.d >= 4, "d is below 4"); },
       .theory = [](const PacketPoint&) { return 0.9; },
       .measured =
           [](const Measurement& m) {
             const double d = PointOf(m).d;
             return BySeeds(m.Over([d](const Trial& t) { return t.figure("full_round") / d; }));
           }},
      {.id = "vb_boundary",
       .statement =
           "far beyond it the accepted load is the boundary, rho* = p x accepted = 1 / (2 R d), "
           "and this is 1 / (2 d) within 20 % for d >= 4",
       .source = kSource,
       .relation = Relation::kEqual,
       .not_applicable = [](const PacketPoint& x) { return Unless(x.d >= 4, "d is below 4"); },
       .theory = [](const PacketPoint& x) { return 1 / (2.0 * x.d); },
       .measured =
           [](const Measurement& m) {
             const double p = PointOf(m).p;
             return BySeeds(m.Over([p](const Trial& t) { return p * t.accepted; }));
           },
       .undecided = BeyondBoundary,
       .tolerance = 0.2},
      {.id = "vb_one_packet_a_round",
       .statement = "beyond the boundary every node sends in every round: accepted x E[round] = 1",
       .source = kSource,
       .relation = Relation::kEqual,
       .not_applicable = [](const PacketPoint&) { return std::string(); },
       .theory = [](const PacketPoint&) { return 1.0; },
       .measured = AcceptedARound,
       .undecided = BeyondBoundary,
       .tolerance = 0.01},
      {.id = "vb_stable",
       .statement =
           "below the boundary 1 / (2 R d) the scheme is stable: born - delivered, packets "
           "per unit and row, is at most 0",
       .source = kSource,
       .relation = Relation::kAtMost,
       .not_applicable = [](const PacketPoint&) { return std::string(); },
       .theory = [](const PacketPoint&) { return 0.0; },
       .measured = [](const Measurement& m) { return BySeeds(GrowthOf(m)); },
       .undecided = BelowBoundary},
  };
  for (Claim& claim : claims) {
    claim.not_applicable = AllOf(
        [](const PacketPoint& x) { return Unless(x.in_rounds, "packets are not sent in rounds"); },
        FairBits, claim.not_applicable);
    claim.stationary = false;
  }
  return claims;
}

}  // namespace bfly::control
