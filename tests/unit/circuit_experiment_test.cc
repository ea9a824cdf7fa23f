// SPDX-License-Identifier: Apache-2.0
// Experiments about circuit protocols: what a file may say, when a claim passes, and that a run is
// the same to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "control/experiment/circuit_report.h"
#include "control/experiment/experiment_file.h"

namespace bfly::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  for (const GrowthFit& fit : FitGrowth(d, values)) {
    if (fit.shape != "log n / loglog n") {
      EXPECT_LT(fit.r_squared, 0.9999) << fit.shape;
      continue;
    }
    EXPECT_NEAR(fit.intercept, 1, 1e-9);
    EXPECT_NEAR(fit.slope, 2, 1e-9);
    EXPECT_NEAR(fit.r_squared, 1, 1e-9);
    EXPECT_EQ(fit.sizes, 7);
  }
  EXPECT_EQ(FitGrowth(d, values).size(), 4u);
  EXPECT_TRUE(FitGrowth({4, 6, 8}, {1, 2, 3}).empty()) << "three sizes say nothing";
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
  // Seven claims about collision, one about the length of its paths, one each about the others.
  EXPECT_EQ(report.Count(Verdict::kPass), 5 * (7 + 1 + 1)) << CircuitClaimTable(report);

  auto cut = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(RunAll(*experiment, *cut, 7).complete);
  auto continued = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(continued.ok()) << continued.status();
  EXPECT_EQ(CircuitResultsJson(RunAll(*experiment, *continued)), CircuitResultsJson(report));
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
  // One in ten: P(at most one of ten) = (1-p)^10 + 10 p (1-p)^9 is 5 % at p = 0.3942.
  EXPECT_NEAR(tail[1]["upper95"], 0.3942, 5e-5);
}

}  // namespace
}  // namespace bfly::control
