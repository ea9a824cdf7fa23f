// SPDX-License-Identifier: Apache-2.0
// Experiments about circuit protocols: what a file may say, when a claim passes, and that a run is
// the same to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "control/experiment/circuit_report.h"
#include "control/experiment/experiment_file.h"

namespace bfly::control {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

class Folder {
 public:
  Folder() {
    std::string path = std::filesystem::temp_directory_path() / "bfly-circuits-XXXXXX";
    path_ = mkdtemp(path.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string Write(const std::string& text) const {
    std::ofstream(*this / "experiment.yaml") << text;
    return *this / "experiment.yaml";
  }

 private:
  std::string path_;
};

constexpr char kSmall[] =
    "name: small\nprotocol: [collision, benes, lock_down]\nd: [4, 5, 6, 7, 8]\nseeds: [1, 2, 3]\n";

std::string ErrorOf(const std::string& text, const std::vector<std::string>& settings = {}) {
  const Folder folder;
  const auto experiment = ReadCircuitExperiment(folder.Write(text), settings);
  return experiment.ok() ? "" : std::string(experiment.status().message());
}

CircuitReport RunAll(const v1::CircuitExperiment& experiment, Journal& journal,
                     size_t trials = 1e6) {
  auto report = MeasureCircuits(experiment, journal,
                                [&](const CircuitProgress& p) { return p.done < trials; });
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

TEST(CircuitExperiment, FilesWithAProtocolAreAboutCircuits) {
  const Folder folder;
  EXPECT_TRUE(*IsCircuitExperiment(folder.Write(kSmall)));
  EXPECT_FALSE(*IsCircuitExperiment(folder.Write("name: x\nnetwork: butterfly\n# protocol: y\n")));
  const auto experiment = ReadCircuitExperiment(folder.Write(kSmall), {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_TRUE(*IsCircuitExperiment(folder.Write(WriteExperiment(*experiment))));
  EXPECT_THAT(experiment->q(), ElementsAre(1)) << "what the file does not say has its default";
  EXPECT_THAT(experiment->c(), ElementsAre(0));
}

TEST(CircuitExperiment, WhatCannotBeIsRefusedWithWhatCould) {
  EXPECT_EQ(ErrorOf(kSmall), "");
  EXPECT_THAT(ErrorOf(kSmall, {"protocol=colision"}),
              HasSubstr("protocol[0]: \"colision\" is unknown (allowed: minimum, collision"));
  EXPECT_THAT(ErrorOf(kSmall, {"protocol=data_server_"}), HasSubstr("is unknown"));
  EXPECT_THAT(ErrorOf(kSmall, {"permutation=bitrev,spiral"}),
              HasSubstr("permutation[1]: \"spiral\" is unknown (allowed: random, identity"));
  EXPECT_THAT(ErrorOf(kSmall, {"d=21"}), HasSubstr("(allowed: 1 to 20)"));
  EXPECT_THAT(ErrorOf(kSmall, {"q=0"}), HasSubstr("(allowed: 1 to 254)"));
  EXPECT_THAT(ErrorOf(kSmall, {"claims=benes"}), HasSubstr("claims[0]: \"benes\" is unknown"));
  EXPECT_THAT(ErrorOf(kSmall, {"protocol=data_server_collision", "d=1"}),
              HasSubstr("d: 1 is too small for data_server_collision (allowed: 2 to 20)"));
  EXPECT_THAT(ErrorOf("name: x\nd: 4\n"), HasSubstr("protocol"));
}

TEST(CircuitExperiment, ErrorsSayOnWhichLineOrInWhichSettingTheyAre) {
  const std::string file =
      "name: x\nd: 4\nprotocol:\n  - benes\n  - colision\nseeds: [1, 2]\nclaims: "
      "[benes_congestion, no]\n";
  EXPECT_THAT(ErrorOf(file), HasSubstr("experiment.yaml:5: protocol[1]: \"colision\" is unknown"));
  EXPECT_THAT(ErrorOf(file, {"protocol=greedy"}),
              HasSubstr("experiment.yaml:7: claims[1]: \"no\" is unknown"));
  EXPECT_THAT(ErrorOf(file, {"protocol=greedy,valient", "d=5"}),
              StartsWith("--set protocol=greedy,valient: protocol[1]: \"valient\" is unknown"));
  EXPECT_THAT(ErrorOf(file, {"protocol=benes", "claims=benes_congestion", "seeds=1..200000"}),
              HasSubstr("experiment.yaml: the lists and seeds give 200000 trials"));
}

TEST(CircuitExperiment, SettingsAreSweptOnlyForProtocolsThatHaveThem) {
  const Folder folder;
  const auto experiment = ReadCircuitExperiment(
      folder.Write(kSmall), {"d=6", "c=3,4", "q=1,2", "permutation=random,bitrev"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const auto points = CircuitPointsOf(*experiment);
  ASSERT_TRUE(points.ok());
  std::vector<std::string> names;
  for (const CircuitPoint& point : *points) names.push_back(point.ToString());
  EXPECT_THAT(
      names, ElementsAre("collision random c=3 d=6", "collision random c=4 d=6",
                         "collision bitrev c=3 d=6", "collision bitrev c=4 d=6", "benes random d=6",
                         "benes bitrev d=6", "lock_down q=1 d=6", "lock_down q=2 d=6"));
}

TEST(CircuitExperiment, SeedsAreWrittenAsARangeAndAreFewerForLargeNetworks) {
  const Folder folder;
  const std::string file = folder.Write(
      "name: x\nprotocol: [benes, greedy]\nd: 4..7\nseeds: [1..50, 99]\n"
      "seed_limits: [{from_d: 7, seeds: 2}, {from_d: 5, seeds: 10}]\n");
  const auto experiment = ReadCircuitExperiment(file, {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_THAT(experiment->d(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(SeedsAt(*experiment, 4).size(), 51u);
  EXPECT_EQ(SeedsAt(*experiment, 4).back(), 99u);
  EXPECT_EQ(SeedsAt(*experiment, 6).size(), 10u);
  EXPECT_THAT(SeedsAt(*experiment, 7), ElementsAre(1, 2));
  EXPECT_EQ(TrialsOf(*experiment, *CircuitPointsOf(*experiment)), 2u * (51 + 10 + 10 + 2));
  const auto fewer = ReadCircuitExperiment(file, {"seeds=4..6"});
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  EXPECT_THAT(SeedsAt(*fewer, 6), ElementsAre(4, 5, 6)) << "a limit adds no seeds";
  EXPECT_THAT(SeedsAt(*fewer, 7), ElementsAre(4, 5));
  EXPECT_THAT(ErrorOf(kSmall, {"seeds=9..3"}), HasSubstr("9..3 is no range"));
  EXPECT_THAT(ErrorOf(kSmall, {"seeds=1..2..3"}), HasSubstr("is not a whole number"));
  EXPECT_THAT(ErrorOf(kSmall, {"d=18..21"}), HasSubstr("(allowed: 1 to 20)"));
  EXPECT_THAT(ErrorOf(kSmall, {"seeds=1..100000"}), HasSubstr("trials (allowed: 1 to 100000)"));
}

TEST(CircuitClaims, AStatementAboutEveryTrialFailsByOne) {
  CircuitMeasurement m{.point = {.protocol = "collision", .d = 6, .permutation = "random", .c = 4},
                       .trials = {}};
  for (const double congestion : {3., 4., 4.}) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"congestion", congestion}, {"left", 0}}});
  }
  const CircuitClaim& claim = *(*CircuitClaimsNamed({"collision_congestion"}))[0];
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kPass);
  m.trials[1].figures["congestion"] = 5;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);
  EXPECT_EQ(Check(claim, m).measured, 5);
  // Where requests were left over the paper forfeits the bound.
  m.trials[1].figures["left"] = 2;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kPass);
  EXPECT_EQ(Check(claim, m).trials, 2);
  m.point.protocol = "benes";
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kNotApplicable);
  EXPECT_EQ(Check(claim, m).reason, "is about collision");
}

TEST(CircuitClaims, AProbabilityFailsWhereItsIntervalIsAboveTheBound) {
  // n = 2^6, Valiant: 4 n log n / (2^C C!) is 1536 / 3840 = 0.4 at C = 5, and 4 at C = 4.
  const CircuitClaim& claim = *(*CircuitClaimsNamed({"valiant_congestion_tail"}))[0];
  CircuitMeasurement m{.point = {.protocol = "valiant", .d = 6}, .trials = {}};
  for (int i = 0; i < 100; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"congestion", i < 40 ? 5. : 4.}}});
  }
  const CircuitClaimResult held = Check(claim, m);
  EXPECT_DOUBLE_EQ(held.theory, 0.4);
  EXPECT_DOUBLE_EQ(held.measured, 0.4);
  EXPECT_EQ(held.tail->event, "congestion >= 5");
  EXPECT_EQ(held.verdict, Verdict::kPass);
  for (int i = 40; i < 70; ++i) m.trials[i].figures["congestion"] = 6;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail) << "70 of 100 are not 0.4";
}

TEST(CircuitClaims, ABoundThatSaysNothingIsMeasuredAndNotPassed) {
  // c = 4: n^(-4/4+1+o(1)). Rounds of n = 2^6: log_4 log_4 64 + 2 = 2.79.
  const CircuitClaim& claim = *(*CircuitClaimsNamed({"theorem_2_1_tail"}))[0];
  CircuitMeasurement m{.point = {.protocol = "collision", .d = 6, .c = 4}, .trials = {}};
  for (const double rounds : {1., 2., 4., 3.}) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"rounds", rounds}}});
  }
  const CircuitClaimResult result = Check(claim, m);
  EXPECT_EQ(result.verdict, Verdict::kNotApplicable);
  EXPECT_EQ(result.reason, "vacuous: n^(0+o(1)) is no bound");
  EXPECT_EQ(result.tail->event, "rounds >= 4");
  EXPECT_DOUBLE_EQ(result.measured, 0.25);
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
  const CircuitClaim& claim = *(*CircuitClaimsNamed({"lock_down_fraction"}))[0];
  // q = 1 on B_4: x = 1/2, then x - x^2/4 for each further stage, and the fraction is 2x. By hand:
  // 7/16, 399/1024, and 1475103/4194304.
  CircuitMeasurement m{.point = {.protocol = "lock_down", .d = 4, .q = 1}, .trials = {}};
  const double exact = 2 * 1475103. / 4194304;
  for (int i = 0; i < 100; ++i) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"locked", exact + (i % 2 ? .1 : -.1)}}});
  }
  CircuitClaimResult result = Check(claim, m);
  EXPECT_NEAR(result.theory, exact, 1e-12);
  EXPECT_EQ(result.verdict, Verdict::kPass);
  for (Trial& trial : m.trials) trial.figures["locked"] += 0.06;
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kFail);
  m.trials.resize(2);
  EXPECT_EQ(Check(claim, m).verdict, Verdict::kNotApplicable);
}

TEST(GrowthFit, FindsTheShapeALineWasDrawnIn) {
  const std::vector<int> d = {4, 6, 8, 10, 12, 14, 16};
  std::vector<double> values;
  for (const int size : d) values.push_back(1 + 2 * size / std::log2(size));
  for (const GrowthFit& fit : FitGrowth(GrowthShapes(), d, values)) {
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

TEST(MeasureCircuits, PassesWhatHoldsAtEverySizeAndGivesTheSameBitsWhenContinued) {
  const Folder folder;
  const auto experiment = ReadCircuitExperiment(folder.Write(kSmall), {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const std::string configuration = WriteExperiment(*experiment);
  auto whole = Journal::Open(folder / "whole", configuration);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const CircuitReport report = RunAll(*experiment, *whole);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.Count(Verdict::kFail), 0) << CircuitClaimTable(report, false);
  // Nine claims about collision and its paths, a tail, and one each about the others. The tail of
  // Theorem 2.1 is measured and says nothing.
  EXPECT_EQ(report.Count(Verdict::kPass), 5 * (9 + 1 + 1)) << CircuitClaimTable(report);
  EXPECT_EQ(report.Count(Verdict::kNotApplicable), 5) << CircuitClaimTable(report);
  EXPECT_THAT(report.claims_elsewhere, Contains("valiant_congestion_tail"));

  auto cut = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(RunAll(*experiment, *cut, 7).complete);
  auto continued = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(continued.ok()) << continued.status();
  EXPECT_EQ(CircuitResultsJson(RunAll(*experiment, *continued)), CircuitResultsJson(report));
}

TEST(GrowthFit, TheFractionThatGetsThroughIsFittedInTheShapeOfItsQ) {
  std::vector<CircuitMeasurement> series;
  for (const int d : {6, 8, 10, 12, 16}) {
    series.push_back({.point = {.protocol = "q_limited", .d = d, .q = 2}, .trials = {}});
    series.back().trials.push_back(
        {.batch_delays = {},
         .figures = {{"locked", 0.1 + 2 / std::sqrt(d)}, {"rounds", 1}, {"congestion", 2}}});
  }
  const std::vector<CurveFit> fits = FitCurves(series, false);
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
}

TEST(CompareBySeed, CountsSeedBySeed) {
  std::vector<CircuitMeasurement> series = {
      {.point = {.protocol = "one_choice", .d = 8, .permutation = "random"}, .trials = {}},
      {.point = {.protocol = "minimum", .d = 8, .permutation = "random"}, .trials = {}},
      {.point = {.protocol = "minimum", .d = 6, .permutation = "random"}, .trials = {}}};
  const std::vector<std::vector<double>> congestion = {{5, 3, 4, 3}, {3, 3, 3, 4}, {1, 1, 1, 1}};
  for (size_t i = 0; i < series.size(); ++i) {
    for (const double value : congestion[i]) {
      series[i].trials.push_back({.batch_delays = {}, .figures = {{"congestion", value}}});
    }
  }
  const std::vector<SeedComparison> compared = CompareBySeed(series, false);
  ASSERT_EQ(compared.size(), 1u) << "only where both were measured";
  EXPECT_EQ(compared[0].less, 2);
  EXPECT_EQ(compared[0].equal, 1);
  EXPECT_EQ(compared[0].more, 1);
  EXPECT_DOUBLE_EQ(compared[0].difference.mean, 0.5);
}

TEST(MeasureCircuits, ClaimsAreOneLineForEachProtocol) {
  const Folder folder;
  const auto experiment = ReadCircuitExperiment(folder.Write(kSmall), {"claims=benes_congestion,"
                                                                       "theorem_2_1_tail,"
                                                                       "q_limited_congestion"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(*experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  CircuitReport report = RunAll(*experiment, *journal);
  const std::vector<std::string> lines = absl::StrSplit(CircuitClaimTable(report), '\n');
  ASSERT_GE(lines.size(), 6u);
  EXPECT_THAT(lines[1], MatchesRegex("benes_congestion +benes random +5 +0  d=4: 1 = 1"));
  EXPECT_THAT(lines[3], HasSubstr("NOT APPLICABLE at 5 of 5 points: vacuous"));
  EXPECT_EQ(lines[5], "about no protocol here: q_limited_congestion");
  // One that fails comes first, with the point where it does.
  report.claims.back().verdict = Verdict::kFail;
  report.claims.back().measured = 2;
  EXPECT_THAT(CircuitClaimTable(report, false), HasSubstr(" 4     1  d=8: 2 = 1\n"));
}

TEST(MeasureCircuits, SecondsAreKeptAndInNoResult) {
  const Folder folder;
  const auto experiment =
      ReadCircuitExperiment(folder.Write(kSmall), {"protocol=collision", "d=8"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(*experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  CircuitReport report = RunAll(*experiment, *journal);
  const std::string before = CircuitResultsJson(report);
  const double seconds = report.series[0].trials[0].set_up_seconds;
  EXPECT_GT(seconds, 0);
  auto reopened = Journal::Open(folder / "out", WriteExperiment(*experiment));
  ASSERT_TRUE(reopened.ok()) << reopened.status();
  EXPECT_DOUBLE_EQ(reopened->Find(0, 1)->set_up_seconds, seconds);
  for (size_t i = 0; i < 3; ++i) report.series[0].trials[i].set_up_seconds = 4.0 - 1.0 * i;
  EXPECT_EQ(CircuitResultsJson(report), before) << "a slower machine measures the same";
  EXPECT_THAT(CircuitSecondsCsv(report),
              HasSubstr("\ncollision,random,4,0,0,8,3.000000,2.000000,4.000000,3\n"));
}

TEST(Estimate, OfEqualValuesHasNoSpread) {
  // A sum of tenths is not exact.
  const Estimate estimate = EstimateMean(std::vector<double>(7, 0.1));
  EXPECT_EQ(estimate.mean, 0.1);
  EXPECT_EQ(estimate.HalfWidth(0.95), 0);
}

TEST(MeasureCircuits, TailsAreCountsOverTheTrials) {
  CircuitReport report;
  CircuitMeasurement& m = report.series.emplace_back(
      CircuitMeasurement{.point = {.protocol = "valiant", .d = 6}, .trials = {}});
  for (const double congestion : {3., 3., 4., 5., 4., 3., 3., 3., 3., 3.}) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"congestion", congestion}}});
  }
  const auto json = nlohmann::json::parse(CircuitResultsJson(report));
  const auto& tail = json["series"][0]["congestion"]["tail"];
  ASSERT_EQ(tail.size(), 2u);
  EXPECT_EQ(tail[0]["at_least"], 4);
  EXPECT_DOUBLE_EQ(tail[0]["probability"], 0.3);
  EXPECT_EQ(tail[1]["at_least"], 5);
  EXPECT_DOUBLE_EQ(tail[1]["probability"], 0.1);
  // One in ten: P(at most one of ten) = (1-p)^10 + 10 p (1-p)^9 is 2.5 % at p = 0.4450, and P(one
  // or more) = 1 - (1-p)^10 at p = 0.00253.
  EXPECT_NEAR(tail[1]["high95"], 0.4450, 5e-5);
  EXPECT_NEAR(tail[1]["low95"], 0.00253, 5e-6);
}

}  // namespace
}  // namespace bfly::control
