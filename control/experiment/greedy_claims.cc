// SPDX-License-Identifier: Apache-2.0
// Stamoulis & Tsitsiklis, "The efficiency of greedy routing in hypercubes and butterflies"; numbers
// of sections, propositions and equations are the paper's. THEORY.md part 1 has the traps.
#include <algorithm>
#include <cmath>

#include "control/experiment/claim.h"
#include "control/experiment/md_c_queue.h"

namespace bfly::control {
namespace {

bool IsCube(const Point& x) { return x.network == NetworkKind::kHypercube; }
bool IsButterfly(const Point& x) { return x.network == NetworkKind::kButterfly; }
std::string Unless(bool applies, const char* reason) { return applies ? "" : reason; }

constexpr char kStable[] = "rho >= 1: no stationary delay exists";
constexpr char kNotCube[] = "the network is not a hypercube";
constexpr char kNotButterfly[] = "the network is not a butterfly";
constexpr char kSlotted[] = "time is slotted";

std::string Cube(const Point& x) { return !IsCube(x) ? kNotCube : Unless(x.rho < 1, kStable); }
std::string Butterfly(const Point& x) {
  return !IsButterfly(x) ? kNotButterfly : Unless(x.rho < 1, kStable);
}
std::string ContinuousCube(const Point& x) {
  const std::string reason = Cube(x);
  return reason.empty() ? Unless(x.slot == 0, kSlotted) : reason;
}
std::string ContinuousButterfly(const Point& x) {
  const std::string reason = Butterfly(x);
  return reason.empty() ? Unless(x.slot == 0, kSlotted) : reason;
}

// Mean wait in an M/D/1 queue with unit service.
double Wait(double load) { return load / (2 * (1 - load)); }

Estimate Delay(const Measurement& m) { return m.delay(); }
Estimate CrossUse(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.cross_utilisation; });
}
Estimate StraightUse(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.straight_utilisation; });
}
Estimate PopulationPerRow(const Measurement& m) {
  Estimate estimate = m.Over([](const Trial& t) { return t.mean_population; });
  estimate.mean /= m.point.rows();
  estimate.standard_error /= m.point.rows();
  return estimate;
}
Estimate AcceptedShare(const Measurement& m) {
  return m.Over([](const Trial& t) { return t.accepted / t.offered; });
}
// Little's law, eq. 14 and 19: N / (lambda 2^d T) = 1, with the lambda and T of the same trial.
Estimate LittleRatio(const Measurement& m) {
  std::vector<double> ratios;
  for (const Trial& t : m.trials) {
    ratios.push_back(t.mean_population / (t.offered * m.point.rows() * t.mean_delay));
  }
  return EstimateMean(ratios);
}

// q_rho of section 4.3: mean packets at the two links of a node under processor sharing.
double ButterflyQueue(const Point& x) {
  const double cross = x.lambda() * x.p, straight = x.lambda() * (1 - x.p);
  return cross / (1 - cross) + straight / (1 - straight);
}

}  // namespace

const std::vector<Claim>& GreedyClaims() {
  static const std::vector<Claim> claims = {
      {"prop2_lower_bound",
       "T >= max{dp, p D(2^d; rho)}, D the mean delay of M/D/2^d (1 is used for D where d > 8)",
       "Stamoulis & Tsitsiklis, Proposition 2", Relation::kAtLeast, ContinuousCube,
       [](const Point& x) {
         const double queue = x.d <= 8 ? MeanDelayMDc(1 << x.d, x.rho) : 1;
         return std::max(x.d * x.p, x.p * queue);
       },
       Delay},
      {"prop3_lower_bound", "T >= max{dp, p [1 + rho / (2 (1 - rho))]} for oblivious routing",
       "Stamoulis & Tsitsiklis, Proposition 3", Relation::kAtLeast, ContinuousCube,
       [](const Point& x) { return std::max(x.d * x.p, x.p * (1 + Wait(x.rho))); }, Delay},
      {"prop12_upper_bound", "T <= d p / (1 - rho)", "Stamoulis & Tsitsiklis, Proposition 12",
       Relation::kAtMost, ContinuousCube, [](const Point& x) { return x.d * x.p / (1 - x.rho); },
       Delay},
      {"prop13_lower_bound", "T >= d p + p rho / (2 (1 - rho))",
       "Stamoulis & Tsitsiklis, Proposition 13", Relation::kAtLeast, ContinuousCube,
       [](const Point& x) { return x.d * x.p + x.p * Wait(x.rho); }, Delay},
      {"slotted_upper_bound", "T <= d p / (1 - rho) + slot", "Stamoulis & Tsitsiklis, section 3.4",
       Relation::kAtMost,
       [](const Point& x) {
         const std::string reason = Cube(x);
         return reason.empty() ? Unless(x.slot > 0, "time is continuous") : reason;
       },
       [](const Point& x) { return x.d * x.p / (1 - x.rho) + x.slot; }, Delay},
      {"cube_exact_d1", "T = p [1 + rho / (2 (1 - rho))] for d = 1 (M/D/1)",
       "Stamoulis & Tsitsiklis, Proposition 13 with equality", Relation::kEqual,
       [](const Point& x) {
         const std::string reason = Cube(x);
         return reason.empty() ? Unless(x.d == 1, "d is not 1") : reason;
       },
       [](const Point& x) { return x.p * (1 + Wait(x.rho)); }, Delay},
      {"cube_exact_p1", "T = d + rho / (2 (1 - rho)) for p = 1 (disjoint paths)",
       "Stamoulis & Tsitsiklis, section 3.1; derived", Relation::kEqual,
       [](const Point& x) {
         const std::string reason = Cube(x);
         return reason.empty() ? Unless(x.p == 1, "p is not 1") : reason;
       },
       [](const Point& x) { return x.d + Wait(x.rho); }, Delay},
      {"prop5_utilisation", "every link of the cube is used a share rho of the time",
       "Stamoulis & Tsitsiklis, Proposition 5", Relation::kEqual, Cube,
       [](const Point& x) { return x.rho; }, CrossUse},
      {"cube_population", "N / 2^d <= d rho / (1 - rho)", "Stamoulis & Tsitsiklis, section 3.3",
       Relation::kAtMost, ContinuousCube, [](const Point& x) { return x.d * x.rho / (1 - x.rho); },
       PopulationPerRow},
      {"prop14_lower_bound",
       "T >= d + p lambda p / (2 (1 - lambda p)) + (1-p) lambda (1-p) / (2 [1 - lambda (1-p)])",
       "Stamoulis & Tsitsiklis, Proposition 14", Relation::kAtLeast, ContinuousButterfly,
       [](const Point& x) {
         return x.d + x.p * Wait(x.lambda() * x.p) + (1 - x.p) * Wait(x.lambda() * (1 - x.p));
       },
       Delay},
      {"prop17_upper_bound", "T <= d p / (1 - lambda p) + d (1-p) / (1 - lambda (1-p))",
       "Stamoulis & Tsitsiklis, Proposition 17", Relation::kAtMost, ContinuousButterfly,
       [](const Point& x) {
         return x.d * (x.p / (1 - x.lambda() * x.p) + (1 - x.p) / (1 - x.lambda() * (1 - x.p)));
       },
       Delay},
      {"butterfly_exact_d1", "the lower bound of Proposition 14 with equality for d = 1",
       "Stamoulis & Tsitsiklis, Proposition 14; derived", Relation::kEqual,
       [](const Point& x) {
         const std::string reason = ContinuousButterfly(x);
         return reason.empty() ? Unless(x.d == 1, "d is not 1") : reason;
       },
       [](const Point& x) {
         return 1 + x.p * Wait(x.lambda() * x.p) + (1 - x.p) * Wait(x.lambda() * (1 - x.p));
       },
       Delay},
      {"butterfly_exact_p01", "T = d + lambda / (2 (1 - lambda)) for p = 0 or 1 (disjoint paths)",
       "Stamoulis & Tsitsiklis, section 4.2; derived", Relation::kEqual,
       [](const Point& x) {
         const std::string reason = ContinuousButterfly(x);
         return reason.empty() ? Unless(x.p == 0 || x.p == 1, "p is neither 0 nor 1") : reason;
       },
       [](const Point& x) { return x.d + Wait(x.lambda()); }, Delay},
      {"prop15_cross", "cross links are used a share lambda p of the time",
       "Stamoulis & Tsitsiklis, Proposition 15", Relation::kEqual, Butterfly,
       [](const Point& x) { return x.lambda() * x.p; }, CrossUse},
      {"prop15_straight", "straight links are used a share lambda (1 - p) of the time",
       "Stamoulis & Tsitsiklis, Proposition 15", Relation::kEqual, Butterfly,
       [](const Point& x) { return x.lambda() * (1 - x.p); }, StraightUse},
      {"butterfly_population",
       "N / 2^d <= d q, q = lambda p / (1 - lambda p) + lambda (1-p) / (1 - lambda (1-p))",
       "Stamoulis & Tsitsiklis, section 4.3", Relation::kAtMost, ContinuousButterfly,
       [](const Point& x) { return x.d * ButterflyQueue(x); }, PopulationPerRow},
      {"little", "N = lambda 2^d T", "Stamoulis & Tsitsiklis, eq. 14 and 19 (Little's law)",
       Relation::kEqual, [](const Point& x) { return Unless(x.rho < 1, kStable); },
       [](const Point&) { return 1.0; }, LittleRatio},
      {"stability",
       "greedy routing is stable for rho < 1: what is accepted is at least 0.99 of what is offered",
       "Stamoulis & Tsitsiklis, Propositions 6 and 16", Relation::kAtLeast,
       [](const Point& x) { return Unless(x.rho < 1, "rho >= 1"); },
       [](const Point&) { return 0.99; }, AcceptedShare},
      {"instability",
       "rho > 1 cannot be carried: what is accepted is below what is offered, rho < "
       "accepted/offered < 1",
       "Stamoulis & Tsitsiklis, section 2.1 and Proposition 6", Relation::kAtMost,
       [](const Point& x) { return Unless(x.rho > 1.02, "rho <= 1"); },
       [](const Point&) { return 0.999; }, AcceptedShare},
  };
  return claims;
}

}  // namespace bfly::control
