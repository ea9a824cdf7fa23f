// SPDX-License-Identifier: Apache-2.0
// What bfly measure makes of the programs extra_stages and store_and_forward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "control/measure/core/family.h"
#include "control/measure/steps/extra_stages.h"
#include "control/measure/steps/extra_stages_fit.h"
#include "control/measure/steps/store_and_forward.h"
#include "control/measure/steps/waves.h"

namespace bfly::control {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

StepPoint ExtraPoint(int d, double r, double t, const std::string& permutation = "random") {
  return {.program = "extra_stages",
          .d = d,
          .values = {{"permutation", permutation},
                     {"renaming", std::string("false")},
                     {"order", std::string("priority")},
                     {"t", t},
                     {"r", r}}};
}

StepPoint ForwardPoint(const std::string& network, const std::string& permutation, double h,
                       double faults) {
  StepPoint point{.program = "store_and_forward", .d = 10, .values = {{"network", network}}};
  if (network != "butterfly") point.values.push_back({"multiplicity", 2.0});
  if (network == "multibutterfly") point.values.push_back({"parallel_edges", std::string("avoid")});
  point.values.push_back({"permutation", permutation});
  point.values.push_back({"h", h});
  point.values.push_back({"buffer", 4.0});
  point.values.push_back({"faults", faults});
  return point;
}

Measurement Measured(const StepProgram& program, const StepPoint& point, uint64_t seeds) {
  Measurement measurement{.point = point, .trials = {}};
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto figures =
        program.run(point, {.seed = seed, .workers = 1, .interrupted = [] { return false; }});
    EXPECT_TRUE(figures.ok()) << figures.status();
    measurement.trials.push_back({.seed = seed, .batch_delays = {}, .figures = *figures});
  }
  return measurement;
}

// The verdicts of all claims of the program that are about one of the points.
std::map<std::string, std::vector<Verdict>> VerdictsOf(const StepProgram& program,
                                                       const std::vector<StepPoint>& points,
                                                       uint64_t seeds) {
  std::vector<ClaimResult> results;
  for (const StepPoint& point : points) {
    EXPECT_TRUE(program.check(point).ok()) << program.check(point);
    const Measurement measurement = Measured(program, point, seeds);
    for (const Claim& claim : program.claims()) {
      if (claim.about && !claim.about(point).empty()) continue;
      results.push_back(Examine(claim, measurement));
    }
  }
  Decide(results);
  std::map<std::string, std::vector<Verdict>> verdicts;
  for (const ClaimResult& result : results) verdicts[result.id].push_back(result.verdict);
  return verdicts;
}

TEST(ExtraStagesProgram, TheBestNumberOfStagesIsThatOfTheFormula) {
  EXPECT_NEAR(BestExtraStages(12, 10), 1.7, 0.05);
  EXPECT_NEAR(BestExtraStages(12, 50), 4.1, 0.05);
  EXPECT_NEAR(BestExtraStages(12, 200), 6.05, 0.05);
  EXPECT_EQ(BestExtraStages(10, 1), 0);
  // At r* neither one stage more nor one less is better.
  for (const double t : {20.0, 100.0, 200.0}) {
    const double best = BestExtraStages(12, t);
    EXPECT_LT(PublishedMeanLatency(12, best, t), PublishedMeanLatency(12, best + 0.1, t));
    EXPECT_LT(PublishedMeanLatency(12, best, t), PublishedMeanLatency(12, best - 0.1, t));
  }
  // THEORY.md 4.4: the published fits at n = 10, r = 0, t = 200.
  EXPECT_NEAR(PublishedMeanLatency(10, 0, 200), 446.9, 0.05);
  EXPECT_NEAR(PublishedMaxLatency(10, 0, 200), 2105, 0.5);
}

TEST(ExtraStagesProgram, AFitFindsTheFormulaAgain) {
  std::vector<MeasuredLatency> points;
  for (const double n : {10.0, 12.0, 14.0}) {
    for (const double t : {10.0, 50.0, 200.0}) {
      for (double r = 0; r <= 12; ++r) {
        points.push_back({n, r, t, PublishedMeanLatency(n, r, t)});
      }
    }
  }
  const LatencyFit fit = FitLatency(points);
  const double expected[] = {-12.90, 3.18, 0.75, 0.69, 0.07, 3.20};
  for (size_t i = 0; i < kLatencyTerms; ++i) EXPECT_NEAR(fit.terms[i], expected[i], 1e-6);
  EXPECT_NEAR(fit.r_squared, 1, 1e-9);
  EXPECT_NEAR(fit.OverStages(12), 0.69 + 0.07 * 12, 1e-6);
  // One n cannot tell n from 1.
  std::erase_if(points, [](const MeasuredLatency& point) { return point.n != 12; });
  EXPECT_EQ(FitLatency(points).points, 0u);
}

// Latencies by the published formula, and twice as long with `fifo`.
Report ReportOfFormula(double least_r) {
  Report report;
  for (const char* order : {"priority", "fifo"}) {
    for (const int d : {10, 12, 14}) {
      for (const double t : {10.0, 200.0}) {
        for (double r = least_r; r <= 12; ++r) {
          StepPoint point = ExtraPoint(d, r, t);
          point.values[2].second = std::string(order);
          const double times = std::string(order) == "fifo" ? 2 : 1;
          const double latency = times * PublishedMeanLatency(d, r, t);
          report.series.push_back(
              {.point = point,
               .trials = {{.batch_delays = {}, .figures = {{"mean_latency", latency}}}}});
        }
      }
    }
  }
  return report;
}

TEST(ExtraStagesProgram, EachOrderIsFittedByItself) {
  const Report report = ReportOfFormula(0);
  const nlohmann::ordered_json fits = ExtraStagesFitJson(report);
  ASSERT_EQ(fits["formulas"].size(), 2u);
  EXPECT_EQ(fits["formulas"][0]["order"], "priority");
  EXPECT_EQ(fits["formulas"][1]["order"], "fifo");
  EXPECT_NEAR(fits["formulas"][0]["terms"]["r"]["fitted"], 3.20, 1e-6);
  EXPECT_NEAR(fits["formulas"][1]["terms"]["r"]["fitted"], 6.40, 1e-6);
  EXPECT_EQ(fits["formulas"][1]["points"], 3 * 2 * 13);
  EXPECT_EQ(fits["best"].size(), 2u * 3 * 2);
  EXPECT_THAT(ExtraStagesFitTable(report),
              AllOf(HasSubstr("\nL_avg priority "), HasSubstr("\nL_avg fifo ")));
}

// r* is 1.7 at n = 12 and t = 10, and 6.05 at t = 200.
TEST(ExtraStagesProgram, ABestNumberOfStagesAtAnEndOfTheSweepIsMarked) {
  const Report report = ReportOfFormula(4);
  const nlohmann::ordered_json fits = ExtraStagesFitJson(report);
  for (const auto& best : fits["best"]) {
    if (best["n"] != 12) continue;
    EXPECT_EQ(best["r"], best["t"] == 10 ? 4 : 6);
    EXPECT_EQ(best["is_first_of_sweep"], best["t"] == 10);
    EXPECT_EQ(best["is_last_of_sweep"], false);
  }
  EXPECT_THAT(ExtraStagesFitTable(report), HasSubstr("4 (first)"));
  EXPECT_THAT(ExtraStagesFitTable(ReportOfFormula(0)), Not(HasSubstr("(first)")));
}

TEST(ExtraStagesProgram, ClaimsHoldOnASmallNetwork) {
  const auto verdicts = VerdictsOf(ExtraStagesProgram(),
                                   {ExtraPoint(6, 2, 1), ExtraPoint(6, 2, 50), ExtraPoint(6, 9, 50),
                                    ExtraPoint(8, 0, 1, "bitrev")},
                                   10);
  EXPECT_EQ(verdicts.at("extra_hurt_one_permutation"), std::vector{Verdict::kPass});
  EXPECT_EQ(verdicts.at("extra_help_sequences"), std::vector{Verdict::kPass});
  EXPECT_EQ(verdicts.at("extra_hurt_beyond_best"), std::vector{Verdict::kPass});
  EXPECT_EQ(verdicts.at("extra_bitrev_max"), std::vector{Verdict::kPass});
  EXPECT_EQ(verdicts.at("extra_bitrev_mean"), std::vector{Verdict::kPass});
  EXPECT_EQ(verdicts.at("extra_unloaded"), std::vector(4, Verdict::kInvariant));
  EXPECT_EQ(verdicts.at("extra_half_rate"), std::vector(4, Verdict::kInvariant));
}

// All packets of an input cross its first link: with n = 6 and t = 10 that takes 2t+2n-3 = 29
// steps, and Corollary 3 says 10 * 6 / (2 log 6) = 11.6. With n = 20 and t = 100,000 it says more.
TEST(ExtraStagesProgram, ABoundThatEveryRunKeepsIsVacuous) {
  const auto verdicts = VerdictsOf(ExtraStagesProgram(), {ExtraPoint(6, 0, 10)}, 10);
  EXPECT_EQ(verdicts.at("extra_corollary_3"), std::vector{Verdict::kVacuous});
  EXPECT_EQ(verdicts.at("extra_theorem_2"), std::vector{Verdict::kPass});
  for (const Claim& claim : ExtraStagesProgram().claims()) {
    if (claim.id != "extra_corollary_3") continue;
    EXPECT_EQ(claim.vacuous(ExtraPoint(20, 0, 100000)), "");
  }
  EXPECT_EQ(VerdictsOf(ExtraStagesProgram(), {ExtraPoint(4, 0, 10)}, 10).at("extra_theorem_2"),
            std::vector{Verdict::kVacuous});
}

TEST(ExtraStagesProgram, WhatChangesNothingNeitherLowersNorRaisesTheLatency) {
  std::vector<ClaimResult> results;
  for (const double r : {2., 9.}) {
    Measurement m{.point = ExtraPoint(6, r, 50), .trials = {}};
    for (int i = 0; i < 10; ++i) {
      m.trials.push_back(
          {.batch_delays = {}, .figures = {{"over_no_extra", 1.0}, {"over_best", 1.0}}});
    }
    for (const Claim& claim : ExtraStagesProgram().claims()) {
      const bool is_strict =
          claim.id == "extra_help_sequences" || claim.id == "extra_hurt_beyond_best";
      if (is_strict && claim.about(m.point).empty()) results.push_back(Examine(claim, m));
    }
  }
  Decide(results);
  ASSERT_EQ(results.size(), 2u);
  for (const ClaimResult& result : results) {
    EXPECT_EQ(result.verdict, Verdict::kNotApplicable) << result.id;
    EXPECT_EQ(result.reason, "the interval holds the value of the statement: more seeds would tell")
        << result.id;
  }
}

// The formulas are of networks with more than one stage, and say nothing of two rows.
TEST(ExtraStagesProgram, ClaimsHoldOnTheSmallestNetworks) {
  std::vector<StepPoint> points;
  for (const int d : {1, 2, 3}) {
    for (const double t : {10.0, 50.0, 200.0}) {
      for (double r = 0; r <= 8; ++r) points.push_back(ExtraPoint(d, r, t));
    }
  }
  int passed = 0;
  for (const auto& [claim, verdicts] : VerdictsOf(ExtraStagesProgram(), points, 12)) {
    for (const Verdict verdict : verdicts) {
      EXPECT_NE(verdict, Verdict::kFail) << claim;
      passed += verdict == Verdict::kPass;
    }
  }
  EXPECT_GT(passed, 0);
}

TEST(ExtraStagesProgram, FiguresAreThoseOfTheRun) {
  // Packets of the identity follow each other: packet q is delivered in step 2n - 1 + 2 (q - 1) or,
  // within a set of log N permutations, in another order.
  const auto figures =
      ExtraStagesProgram().run(ExtraPoint(5, 0, 50, "identity"),
                               {.seed = 1, .workers = 1, .interrupted = [] { return false; }});
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_EQ(figures->at("max_latency"), 9 + 98);
  EXPECT_EQ(figures->at("finished_last"), 9 + 98);
  EXPECT_EQ(figures->at("mean_latency"), 9 + 49);
  EXPECT_EQ(figures->at("congestion"), 50);
  EXPECT_NEAR(figures->at("steps_a_permutation"), 2, 0.1);
  EXPECT_EQ(figures->at("packets"), 50 * 32);
  EXPECT_EQ(figures->at("hops"), 50 * 32 * 5);
  EXPECT_EQ(figures->count("over_no_extra"), 0u);
}

TEST(ExtraStagesProgram, WrongValuesAreNamedAsInTheFile) {
  StepPoint point = ExtraPoint(6, 2, 1 << 24);
  EXPECT_THAT(std::string(ExtraStagesProgram().check(point).message()), HasSubstr("t: 16777216"));
  point = ExtraPoint(6, 2, 1);
  point.values[2].second = std::string("lifo");
  EXPECT_THAT(std::string(ExtraStagesProgram().check(point).message()),
              HasSubstr("order: \"lifo\""));
}

TEST(StoreAndForwardProgram, ClaimsHoldForLeightonAndMaggsNetworks) {
  std::vector<StepPoint> points;
  for (const double faults : {0.0, 100.0}) {
    for (const char* permutation : {"random", "transpose", "bitrev"}) {
      points.push_back(ForwardPoint("multibutterfly", permutation, 8, faults));
    }
  }
  points.push_back(ForwardPoint("dilated_butterfly", "bitrev", 8, 0));
  points.push_back(ForwardPoint("butterfly", "transpose", 8, 0));
  const auto verdicts = VerdictsOf(StoreAndForwardProgram(), points, 10);
  EXPECT_EQ(verdicts.at("forward_random_mean"), std::vector(2, Verdict::kPass));
  EXPECT_EQ(verdicts.at("forward_random_steps"), std::vector(2, Verdict::kPass));
  EXPECT_EQ(verdicts.at("forward_structured"), std::vector(4, Verdict::kPass));
  EXPECT_EQ(verdicts.at("forward_root_n"), std::vector(2, Verdict::kInvariant));
  EXPECT_EQ(verdicts.at("forward_room"), std::vector(8, Verdict::kInvariant));
}

// With d = 10 and h = 1 the bound is d - 1 + 2^3 steps.
TEST(StoreAndForwardProgram, AClaimOfAtMostSaysSoAndHoldsWhereBothAreEqual) {
  std::vector<ClaimResult> results;
  for (const double steps : {17., 18.}) {
    Measurement m{.point = ForwardPoint("multibutterfly", "bitrev", 1, 0), .trials = {}};
    for (int i = 0; i < 10; ++i) {
      m.trials.push_back({.batch_delays = {}, .figures = {{"steps", steps}}});
    }
    for (const Claim& claim : StoreAndForwardProgram().claims()) {
      if (claim.id == "forward_structured") results.push_back(Examine(claim, m));
    }
  }
  Decide(results);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].verdict, Verdict::kPass);
  EXPECT_EQ(results[1].verdict, Verdict::kFail);
  for (const Claim& claim : StoreAndForwardProgram().claims()) {
    if (claim.relation != Relation::kAtMost) continue;
    EXPECT_THAT(claim.statement, HasSubstr("at most")) << claim.id;
  }
}

// 1,024 rows, up to 100 faults, room for 4 packets, no parallel edges where possible.
TEST(StoreAndForwardProgram, ComparisonsAreAboutTheNetworksThatWereSimulated) {
  int compared = 0;
  for (const Claim& claim : StoreAndForwardProgram().claims()) {
    if (claim.source != "Leighton and Maggs 1992, simulations") continue;
    ++compared;
    const std::string permutation = claim.id == "forward_structured" ? "bitrev" : "random";
    const StepPoint simulated = ForwardPoint("multibutterfly", permutation, 8, 100);
    EXPECT_EQ(claim.about(simulated), "") << claim.id;
    StepPoint small = simulated, parallel = simulated, narrow = simulated;
    small.d = 2;
    parallel.values[2].second = "keep";
    narrow.values[5].second = 1.0;  // buffer
    const StepPoint faulty = ForwardPoint("multibutterfly", permutation, 8, 101);
    for (const StepPoint& other : {small, parallel, narrow, faulty}) {
      EXPECT_THAT(claim.about(other), HasSubstr("d = 10")) << claim.id << " " << other.ToString();
    }
  }
  EXPECT_EQ(compared, 3);
}

// Four inputs with three packets each, over two links: two steps until the last packet has left,
// one more until it arrives.
TEST(StoreAndForwardProgram, StepsAreWholeNumbers) {
  StepPoint random = ForwardPoint("multibutterfly", "bitrev", 3, 0);
  StepPoint dilated = ForwardPoint("dilated_butterfly", "bitrev", 3, 0);
  random.d = dilated.d = 2;
  for (const Claim& claim : StoreAndForwardProgram().claims()) {
    if (claim.id == "forward_structured") {
      EXPECT_EQ(claim.theory(random), 3);
    }
    if (claim.id == "forward_root_n") {
      EXPECT_EQ(claim.theory(dilated), 3);
    }
  }
  const auto verdicts = VerdictsOf(StoreAndForwardProgram(), {random, dilated}, 10);
  EXPECT_EQ(verdicts.count("forward_structured"), 0u) << "nobody simulated four rows";
  EXPECT_EQ(verdicts.at("forward_root_n"), std::vector{Verdict::kInvariant});
}

TEST(StoreAndForwardProgram, WrongValuesAreNamedAsInTheFile) {
  EXPECT_THAT(std::string(StoreAndForwardProgram()
                              .check(ForwardPoint("multibutterfly", "random", 1, 10000))
                              .message()),
              HasSubstr("faults: 10000 is outside 0..9216"));
  EXPECT_THAT(std::string(StoreAndForwardProgram()
                              .check(ForwardPoint("multibutterfly", "random", 1 << 20, 0))
                              .message()),
              HasSubstr("h: 1048576 is outside 1..16384"));
}

// A wave of 8 levels and 4 colours takes 32 steps at least, and 64 packets of an input take 64. So
// both are asked a second time after 16 steps.
TEST(StepPrograms, EndInTheMiddleOfATrialWhenTheyAreAsked) {
  const StepPoint waves{.program = "waves",
                        .d = 8,
                        .values = {{"network", "multibutterfly"},
                                   {"multiplicity", 2.0},
                                   {"parallel_edges", "keep"},
                                   {"permutation", "random"},
                                   {"waves", 1.0}}};
  const StepPoint forward = ForwardPoint("multibutterfly", "random", 64, 0);
  for (const auto& [program, point] :
       {std::pair(WavesProgram(), waves), std::pair(StoreAndForwardProgram(), forward)}) {
    int asked = 0;
    const std::function<bool()> at_the_second = [&asked] { return ++asked == 2; };
    const auto figures =
        program.run(point, {.seed = 1, .workers = 1, .interrupted = at_the_second});
    EXPECT_EQ(figures.status().code(), absl::StatusCode::kCancelled) << program.name;
    EXPECT_EQ(asked, 2) << program.name;
  }
}

}  // namespace
}  // namespace bfly::control
