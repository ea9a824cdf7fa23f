// SPDX-License-Identifier: Apache-2.0
// The verdicts of claims about circuit protocols, the fits of growth, and the comparison of
// protocols.
#include "control/measure/circuits/circuit_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "control/measure/circuits/circuit_comparison.h"
#include "control/measure/circuits/circuit_fits.h"
#include "tests/unit/checked_claim.h"

namespace bfly::control {
namespace {

TEST(CircuitClaims, AStatementAboutEveryTrialFailsByOne) {
  Measurement m{
      .point = CircuitPoint{.protocol = "collision", .d = 6, .permutation = "random", .c = 4},
      .trials = {}};
  for (const double congestion : {3., 4., 4.}) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"congestion", congestion}, {"left", 0}}});
  }
  const Claim& claim = *(*ClaimsNamed(CircuitClaims(), {"collision_congestion"}))[0];
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kInvariant) << "the protocol's rule says so";
  m.trials[1].figures["congestion"] = 5;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);
  EXPECT_EQ(Check(claim, m).reason, "an invariant is broken: the fault is in bfly");
  EXPECT_EQ(Check(claim, m).measured, 5);
  // If requests were left over the paper's bound does not hold.
  m.trials[1].figures["left"] = 2;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kInvariant);
  EXPECT_EQ(Check(claim, m).trials, 2);
  m.point = CircuitPoint{.protocol = "benes", .d = 6};
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kNotApplicable);
  EXPECT_EQ(Check(claim, m).reason, "is about collision");
}

TEST(CircuitClaims, AProbabilityFailsWhereItsIntervalIsAboveTheBound) {
  // n = 2^6, Valiant: 4 n log n / (2^C C!) is 1536 / 3840 = 0.4 at C = 5, and 4 at C = 4.
  const Claim& claim = *(*ClaimsNamed(CircuitClaims(), {"valiant_congestion_tail"}))[0];
  Measurement m{.point = CircuitPoint{.protocol = "valiant", .d = 6}, .trials = {}};
  for (int i = 0; i < 100; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"congestion", i < 40 ? 5. : 4.}}});
  }
  const ClaimResult held = Check(claim, m);
  EXPECT_DOUBLE_EQ(held.theory, 0.4);
  EXPECT_DOUBLE_EQ(held.measured, 0.4);
  EXPECT_LT(held.low, 0.4);
  EXPECT_GT(held.high, 0.4);
  EXPECT_EQ(held.tail->event, "congestion >= 5");
  EXPECT_EQ(held.verdict, Verdict::kPass);
  for (int i = 40; i < 70; ++i) m.trials[i].figures["congestion"] = 6;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail) << "70 of 100 are not 0.4";
  // All of 7: 0.4^7 is 1.6e-3, above the 1e-3 at which a run with one claim fails; all of 8 fail
  // it.
  m.trials.resize(7);
  EXPECT_EQ(Check(claim, m).reason, "7 trials are too few to fail it");
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kNotApplicable);
  m.trials.push_back(m.trials[0]);
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);
}

TEST(CircuitClaims, ABoundThatSaysNothingIsMeasuredAndNotPassed) {
  // c = 4: n^(-4/4+1+o(1)). Rounds of n = 2^6: log_4 log_4 64 + 2 = 2.79.
  const Claim& claim = *(*ClaimsNamed(CircuitClaims(), {"theorem_2_1_tail"}))[0];
  Measurement m{.point = CircuitPoint{.protocol = "collision", .d = 6, .c = 4}, .trials = {}};
  for (const double rounds : {1., 2., 4., 3.}) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"rounds", rounds}}});
  }
  const ClaimResult result = Check(claim, m);
  EXPECT_EQ(result.verdict, Verdict::kVacuous);
  EXPECT_EQ(result.reason, "n^(0+o(1)) is not a bound");
  EXPECT_EQ(result.tail->event, "rounds >= 4");
  EXPECT_DOUBLE_EQ(result.measured, 0.25);
}

TEST(CircuitClaims, WhatCannotFailIsNoEvidence) {
  // Every path of a two-fold butterfly has 2 log n links, whatever the protocol chooses.
  Measurement m{
      .point =
          CircuitPoint{.protocol = "valiant", .network = NetworkKind::kTwoFoldButterfly, .d = 6},
      .trials = {}};
  for (int i = 0; i < 3; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"dilation", 12}, {"rounds", 9}}});
  }
  EXPECT_EQ(Check(*(*ClaimsNamed(CircuitClaims(), {"two_fold_dilation"}))[0], m).verdict,
            Verdict::kInvariant);
  // The round bound of Theorem 2.1 has a probability that says nothing: no trial can refute it.
  m.point = CircuitPoint{.protocol = "collision", .d = 6, .c = 4};
  const ClaimResult rounds = Check(*(*ClaimsNamed(CircuitClaims(), {"collision_rounds"}))[0], m);
  EXPECT_EQ(rounds.verdict, Verdict::kVacuous);
  EXPECT_EQ(rounds.measured, 9);
  EXPECT_EQ(rounds.theory, 3);
}

TEST(CircuitClaims, BoundsOfTheProofsAreThoseOfTheTable) {
  // Theory's table for c = 4.
  const std::map<int, double> rounds = {{6, 3},  {8, 4},  {10, 4}, {12, 4},
                                        {14, 5}, {16, 5}, {20, 6}};
  for (const auto& [d, t] : rounds) EXPECT_EQ(CollisionRoundBound(d, 4), t) << d;
  EXPECT_TRUE(std::isnan(CollisionRoundBound(6, 3))) << "3! is not above log n";
  const std::map<int, double> congestion = {{6, 12}, {8, 12}, {9, 16}, {16, 16}, {17, 20}};
  for (const auto& [d, bound] : congestion) EXPECT_EQ(MinimumCongestionBound(d), bound) << d;
}

TEST(CircuitClaims, AStatementAboutAMeanFailsOutsideItsInterval) {
  const Claim& claim = *(*ClaimsNamed(CircuitClaims(), {"lock_down_fraction"}))[0];
  // q = 1 on B_4: x = 1/2, then x - x^2/4 for each further stage, and the fraction is 2x. By hand:
  // 7/16, 399/1024, and 1475103/4194304.
  Measurement m{.point = CircuitPoint{.protocol = "lock_down", .d = 4, .q = 1}, .trials = {}};
  const double exact = 2 * 1475103. / 4194304;
  for (int i = 0; i < 100; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"locked", exact + (i % 2 ? .1 : -.1)}}});
  }
  ClaimResult result = Check(claim, m);
  EXPECT_NEAR(result.theory, exact, 1e-12);
  EXPECT_EQ(result.verdict, Verdict::kPass);
  for (Trial& trial : m.trials) trial.figures["locked"] += 0.06;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);
  m.trials.resize(9);
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kNotApplicable);
  EXPECT_EQ(Check(claim, m).reason, "9 seeds are too few for a verdict, which takes 10");
}

TEST(CircuitClaims, ARareCountIsNotKnownToBeZeroAfterNoTrialSawIt) {
  // n = 2^6: 2 n log n / 10! is 768 / 3628800 = 0.00021.
  const Claim& claim = *(*ClaimsNamed(CircuitClaims(), {"lemma_2_4_load_10"}))[0];
  Measurement m{.point = CircuitPoint{.protocol = "collision", .d = 6}, .trials = {}};
  for (int i = 0; i < 200; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"candidates_10", 0}}});
  }
  const ClaimResult none = Check(claim, m);
  EXPECT_NEAR(none.theory, 768. / 3628800, 1e-12);
  // exp(-200 x) = 0.001
  EXPECT_NEAR(none.high, std::log(1000.) / 200, 1e-9);
  EXPECT_EQ(none.low, 0);
  EXPECT_EQ(none.verdict, Verdict::kNotApplicable);
  EXPECT_EQ(none.reason, "the interval holds the value of the statement: more seeds would tell");
  for (int i = 0; i < 10; ++i) m.trials[i].figures["candidates_10"] = 1;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail) << "0.05 is not 0.00021";
  // n = 2^12: 2 n log n / 8! is 2.4, far above what 200 trials without an event allow.
  const Claim& large = *(*ClaimsNamed(CircuitClaims(), {"lemma_2_4_load_8"}))[0];
  m.point = CircuitPoint{.protocol = "collision", .d = 12};
  for (Trial& trial : m.trials) trial.figures["candidates_8"] = 0;
  EXPECT_EQ(Check(large, m).verdict, Verdict::kPass);
}

TEST(CircuitClaims, ATailCountsTheRoundsThatItsStatementNames) {
  // log_5 log(n / log n) is 1 at n = 2^8 and 1.71 at n = 2^20: more than that is 2 or more.
  const Claim& server = *(*ClaimsNamed(CircuitClaims(), {"theorem_3_1_tail"}))[0];
  for (int d = 8; d <= 20; d += 2) {
    Measurement m{
        .point = CircuitPoint{.protocol = "data_server_collision", .d = d, .c = 5, .c_disk = 5},
        .trials = {}};
    m.trials.push_back({.batch_delays = {}, .figures = {{"rounds", 2}}});
    const ClaimResult result = Check(server, m);
    ASSERT_TRUE(result.tail) << d << ": " << result.reason;
    EXPECT_EQ(result.tail->event, "rounds >= 2") << d;
    EXPECT_EQ(result.measured, 1) << d;
  }
  const Claim& collision = *(*ClaimsNamed(CircuitClaims(), {"theorem_2_1_tail"}))[0];
  EXPECT_NE(collision.statement.find("rounds > ceil(log_c"), std::string::npos)
      << "its event is that of the whole number t in the proof";
}

TEST(GrowthFit, FindsTheShapeALineWasDrawnIn) {
  const std::vector<int> d = {4, 6, 8, 10, 12, 14, 16};
  std::vector<double> values;
  for (const int size : d) values.push_back(1 + 2 * size / std::log2(size));
  const std::vector<GrowthFit> fits = FitGrowth(GrowthShapes(), d, values);
  EXPECT_EQ(std::count_if(fits.begin(), fits.end(),
                          [](const GrowthFit& fit) { return fit.shape == "log n / loglog n"; }),
            1);
  for (const GrowthFit& fit : fits) {
    if (fit.shape != "log n / loglog n") {
      EXPECT_LT(fit.r_squared, 0.9999) << fit.shape;
      continue;
    }
    EXPECT_NEAR(fit.intercept, 1, 1e-9);
    EXPECT_NEAR(fit.slope, 2, 1e-9);
    EXPECT_NEAR(fit.r_squared, 1, 1e-9);
    EXPECT_EQ(fit.sizes, 7);
  }
  EXPECT_EQ(FitGrowth(GrowthShapes(), d, values).size(), 4u);
  EXPECT_TRUE(FitGrowth(GrowthShapes(), {4, 6, 8}, {1, 2, 3}).empty()) << "three sizes say nothing";
}

TEST(GrowthFit, TheFractionThatGetsThroughIsFittedInTheShapeOfItsQ) {
  std::vector<Measurement> series;
  for (const int d : {6, 8, 10, 12, 16}) {
    series.push_back(
        {.point = CircuitPoint{.protocol = "q_limited", .d = d, .q = 2}, .trials = {}});
    series.back().trials.push_back(
        {.batch_delays = {},
         .figures = {{"locked", 0.1 + 2 / std::sqrt(d)}, {"rounds", 1}, {"congestion", 2}}});
  }
  const std::vector<CurveFit> fits = FitCurves(series);
  ASSERT_EQ(fits.size(), 1u) << "rounds and congestion are what q says";
  EXPECT_EQ(fits[0].stated, "1 / log^(1/2) n");
  EXPECT_NEAR(fits[0].fits[1].slope, 2, 1e-9);
  EXPECT_NEAR(fits[0].fits[1].r_squared, 1, 1e-9);
  EXPECT_LT(fits[0].fits[0].r_squared, 0.9999);
}

TEST(GrowthFit, WhatDoesNotGrowIsSaidToBeConstant) {
  const auto fits = FitGrowth(GrowthShapes(), {6, 8, 10, 12}, {3, 3, 3, 3});
  ASSERT_EQ(fits.size(), 1u);
  EXPECT_EQ(fits[0].shape, "constant");
  EXPECT_EQ(fits[0].intercept, 3);
  // 3 at n = 2^6 and 4 from 2^8 on: loglog n / logloglog n begins at 2^7, where it is flat.
  const auto late = FitGrowth(GrowthShapes(), {6, 8, 10, 12, 14}, {3, 4, 4, 4, 4});
  EXPECT_FALSE(late.empty());
  for (const GrowthFit& fit : late) {
    EXPECT_NE(fit.shape, "loglog n / logloglog n");
  }
}

TEST(CompareBySeed, CountsSeedBySeed) {
  std::vector<Measurement> series = {
      {.point = CircuitPoint{.protocol = "one_choice", .d = 8, .permutation = "random"},
       .trials = {}},
      {.point = CircuitPoint{.protocol = "minimum", .d = 8, .permutation = "random"}, .trials = {}},
      {.point = CircuitPoint{.protocol = "minimum", .d = 6, .permutation = "random"},
       .trials = {}}};
  const std::vector<std::vector<double>> congestion = {{5, 3, 4, 3}, {3, 3, 3, 4}, {1, 1, 1, 1}};
  for (size_t i = 0; i < series.size(); ++i) {
    for (const double value : congestion[i]) {
      series[i].trials.push_back({.batch_delays = {}, .figures = {{"congestion", value}}});
    }
  }
  const std::vector<SeedComparison> compared = CompareBySeed(series);
  ASSERT_EQ(compared.size(), 1u) << "only where both were measured";
  EXPECT_EQ(compared[0].less, 2);
  EXPECT_EQ(compared[0].equal, 1);
  EXPECT_EQ(compared[0].more, 1);
  EXPECT_DOUBLE_EQ(compared[0].difference.mean, 0.5);
}

TEST(Estimate, OfEqualValuesHasNoSpread) {
  // A sum of tenths is not exact.
  const Estimate estimate = EstimateMean(std::vector<double>(7, 0.1));
  EXPECT_EQ(estimate.mean, 0.1);
  EXPECT_EQ(estimate.HalfWidth(0.95), 0);
}

}  // namespace
}  // namespace bfly::control
