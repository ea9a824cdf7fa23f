// SPDX-License-Identifier: Apache-2.0
// Whether packets pile up, and Little's law. Sections and propositions are those of Stamoulis &
// Tsitsiklis, "The efficiency of greedy routing in hypercubes and butterflies".
#include <cmath>

#include "control/measure/packets/conditions.h"
#include "control/measure/packets/packet_claims.h"

namespace bfly::control {
namespace {

Reading Growth(const Measurement& m) { return BySeeds(GrowthOf(m)); }

// The paper covers FIFO and processor sharing, but not priorities.
std::string FifoOrSharing(const PacketPoint& x) {
  return Unless(x.discipline != dataplane::Discipline::kPriority, "the links have priorities");
}

// Eq. 14 and 19: N / (lambda 2^d T) = 1. The mean of the trials' differences, unlike that of their
// ratios, is what theory says.
Reading LittleRatio(const Measurement& m) {
  const auto product = [&m](const Trial& t) {
    return t.offered * PointOf(m).rows() * t.mean_delay;
  };
  const double mean = m.Over(product).mean;
  return BySeeds(
      m.Over([&](const Trial& t) { return 1 + (t.mean_population - product(t)) / mean; }));
}

}  // namespace

std::vector<Claim> StabilityClaims() {
  return {
      {.id = "stability",
       .statement = "greedy routing is stable for rho < 1: born - delivered, packets per unit and "
                    "row, is at most 0",
       .source = "Stamoulis & Tsitsiklis, Propositions 6 and 16; sections 3.3 and 4.3 of sharing",
       .relation = Relation::kAtMost,
       .not_applicable = AllOf(HasLoadFactor, FifoOrSharing, Stable),
       .theory = [](const PacketPoint&) { return 0.0; },
       .measured = Growth,
       .undecided = WhyStillFilling,
       .stationary = false},
      {.id = "instability",
       .statement =
           "no scheme is stable for rho >= 1: born - delivered, packets per unit and row, is above "
           "0 and at least rho - 1, since a first link is offered rho and carries at most 1",
       .source = "Stamoulis & Tsitsiklis, sections 2.1 and 4.2",
       .relation = Relation::kAtLeast,
       .not_applicable =
           AllOf(HasLoadFactor, [](const PacketPoint& x) { return Unless(x.rho >= 1, "rho < 1"); }),
       .theory = [](const PacketPoint& x) { return x.rho - 1; },
       .measured = Growth,
       .stationary = false,
       .above_zero = true},
  };
}

std::vector<Claim> GeneralClaims() {
  return {{.id = "little",
           .statement = "N = lambda 2^d T, of any network, arrivals and discipline",
           .source = "Little 1961; Stamoulis & Tsitsiklis, eq. 14 and 19",
           .relation = Relation::kEqual,
           .not_applicable = [](const PacketPoint&) { return std::string(); },
           .theory = [](const PacketPoint&) { return 1.0; },
           .measured = LittleRatio,
           .undecided =
               [](const Measurement& m) {
                 return Unless(
                     std::isnan(m.Over("late_mean_us").mean),
                     "on the wall clock packets inside are counted by a thread that waits "
                     "for a CPU itself");
               },
           .invariant = true}};
}

}  // namespace bfly::control
