// SPDX-License-Identifier: Apache-2.0
// Stamoulis & Tsitsiklis, "The efficiency of greedy routing in hypercubes and butterflies"; numbers
// of sections, propositions and equations are the paper's. THEORY.md part 1 has the traps.
#include <algorithm>
#include <cmath>

#include "control/measure/packets/conditions.h"
#include "control/measure/packets/md_c_queue.h"
#include "control/measure/packets/packet_claims.h"
#include "control/measure/packets/slotted_cube.h"

namespace bfly::control {
namespace {

std::string Cube(const PacketPoint& x) { return AllOf(OnCube, Fifo, Stable)(x); }
std::string Butterfly(const PacketPoint& x) { return AllOf(OnButterfly, Fifo, Stable)(x); }
std::string ContinuousCube(const PacketPoint& x) { return AllOf(Cube, Continuous)(x); }
std::string ContinuousButterfly(const PacketPoint& x) { return AllOf(Butterfly, Continuous)(x); }
std::string Slotted(const PacketPoint& x) { return Unless(x.slot > 0, "time is continuous"); }
// Mean wait in an M/D/1 queue with unit service.
double Wait(double load) { return load / (2 * (1 - load)); }

Reading Delay(const Measurement& m) { return BySeeds(DelayOf(m)); }
Reading PopulationPerRow(const Measurement& m) {
  const double rows = PointOf(m).rows();
  return BySeeds(m.Over([rows](const Trial& t) { return t.mean_population / rows; }));
}

// q_rho of section 4.3: mean packets at the two links of a node under processor sharing.
double ButterflyQueue(const PacketPoint& x) {
  const double cross = x.lambda() * x.p, straight = x.lambda() * (1 - x.p);
  return cross / (1 - cross) + straight / (1 - straight);
}

}  // namespace

std::vector<Claim> GreedyClaims() {
  return {
      {"prop2_lower_bound",
       "T >= max{dp, p D(2^d; rho)}, D the mean delay of M/D/c, c = 2^d (for d > 8 and for rho > "
       "0.98 a lower bound is used for D: 1 + rho / (2c (1 - rho)) - (c - 1) / (2c), at least 1)",
       "Stamoulis & Tsitsiklis, Proposition 2", Relation::kAtLeast, ContinuousCube,
       [](const PacketPoint& x) {
         const bool exact = x.d <= 8 && x.rho <= kMostExactRho;
         const double queue =
             exact ? MeanDelayMDc(1 << x.d, x.rho) : LeastDelayMDc(1 << x.d, x.rho);
         return std::max(x.d * x.p, x.p * queue);
       },
       Delay},
      {"prop3_lower_bound", "T >= max{dp, p [1 + rho / (2 (1 - rho))]} for oblivious routing",
       "Stamoulis & Tsitsiklis, Proposition 3", Relation::kAtLeast, ContinuousCube,
       [](const PacketPoint& x) { return std::max(x.d * x.p, x.p * (1 + Wait(x.rho))); }, Delay},
      {"prop12_upper_bound", "T <= d p / (1 - rho)", "Stamoulis & Tsitsiklis, Proposition 12",
       Relation::kAtMost, ContinuousCube,
       [](const PacketPoint& x) { return x.d * x.p / (1 - x.rho); }, Delay},
      {"prop13_lower_bound", "T >= d p + p rho / (2 (1 - rho))",
       "Stamoulis & Tsitsiklis, Proposition 13", Relation::kAtLeast, ContinuousCube,
       [](const PacketPoint& x) { return x.d * x.p + x.p * Wait(x.rho); }, Delay},
      {"slotted_upper_bound", "T <= d p / (1 - rho) + slot", "Stamoulis & Tsitsiklis, section 3.4",
       Relation::kAtMost, AllOf(Cube, Slotted),
       [](const PacketPoint& x) { return x.d * x.p / (1 - x.rho) + x.slot; }, Delay},
      {"cube_exact_d1", "T = p [1 + rho / (2 (1 - rho))] for d = 1 (M/D/1)",
       "Stamoulis & Tsitsiklis, Proposition 13 with equality", Relation::kEqual,
       AllOf(Cube, OneStage), [](const PacketPoint& x) { return x.p * (1 + Wait(x.rho)); }, Delay},
      {"cube_exact_p1", "T = d + rho / (2 (1 - rho)) for p = 1 (disjoint paths)",
       "Stamoulis & Tsitsiklis, section 3.1; derived", Relation::kEqual,
       AllOf(Cube, [](const PacketPoint& x) { return Unless(x.p == 1, "p is not 1"); }),
       [](const PacketPoint& x) { return x.d + Wait(x.rho); }, Delay},
      {"slotted_exact_d2", "T for d = 2 and slots of a unit, from the chain of two links in a row",
       "Stamoulis & Tsitsiklis, section 3.4; derived", Relation::kEqual,
       AllOf(Cube,
             [](const PacketPoint& x) {
               return Unless(x.d == 2 && x.slot == 1 && x.rho <= 0.9,
                             "needs d = 2, slots of a unit and rho <= 0.9");
             }),
       [](const PacketPoint& x) { return SlottedDelayOfTwoDimensions(x.rho, x.p); }, Delay},
      {"cube_population", "N / 2^d <= d rho / (1 - rho)", "Stamoulis & Tsitsiklis, section 3.3",
       Relation::kAtMost, ContinuousCube,
       [](const PacketPoint& x) { return x.d * x.rho / (1 - x.rho); }, PopulationPerRow},
      {"prop14_lower_bound",
       "T >= d + p lambda p / (2 (1 - lambda p)) + (1-p) lambda (1-p) / (2 [1 - lambda (1-p)])",
       "Stamoulis & Tsitsiklis, Proposition 14", Relation::kAtLeast, ContinuousButterfly,
       [](const PacketPoint& x) {
         return x.d + x.p * Wait(x.lambda() * x.p) + (1 - x.p) * Wait(x.lambda() * (1 - x.p));
       },
       Delay},
      {"prop17_upper_bound", "T <= d p / (1 - lambda p) + d (1-p) / (1 - lambda (1-p))",
       "Stamoulis & Tsitsiklis, Proposition 17", Relation::kAtMost, ContinuousButterfly,
       [](const PacketPoint& x) {
         return x.d * (x.p / (1 - x.lambda() * x.p) + (1 - x.p) / (1 - x.lambda() * (1 - x.p)));
       },
       Delay},
      {"butterfly_exact_d1", "the lower bound of Proposition 14 with equality for d = 1",
       "Stamoulis & Tsitsiklis, Proposition 14; derived", Relation::kEqual,
       AllOf(ContinuousButterfly, OneStage),
       [](const PacketPoint& x) {
         return 1 + x.p * Wait(x.lambda() * x.p) + (1 - x.p) * Wait(x.lambda() * (1 - x.p));
       },
       Delay},
      {"butterfly_exact_p01", "T = d + lambda / (2 (1 - lambda)) for p = 0 or 1 (disjoint paths)",
       "Stamoulis & Tsitsiklis, section 4.2; derived", Relation::kEqual,
       AllOf(ContinuousButterfly,
             [](const PacketPoint& x) {
               return Unless(x.p == 0 || x.p == 1, "p is neither 0 nor 1");
             }),
       [](const PacketPoint& x) { return x.d + Wait(x.lambda()); }, Delay},
      {"butterfly_population",
       "N / 2^d <= d q, q = lambda p / (1 - lambda p) + lambda (1-p) / (1 - lambda (1-p))",
       "Stamoulis & Tsitsiklis, section 4.3", Relation::kAtMost, ContinuousButterfly,
       [](const PacketPoint& x) { return x.d * ButterflyQueue(x); }, PopulationPerRow},
  };
}

}  // namespace bfly::control
