// SPDX-License-Identifier: Apache-2.0
// Experiments about circuit protocols: what a file may contain, and that equal runs give equal
// bits.
#include "control/measure/circuits/circuit_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_split.h"
#include "control/measure/circuits/circuit_point.h"
#include "control/measure/circuits/circuit_tables.h"
#include "control/measure/core/curve_rows.h"
#include "control/measure/core/figure_rows.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "tests/temporary_folder.h"
#include "tests/unit/experiment_message.h"

namespace bfly::control {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

class CircuitFolder : public TemporaryFolder {
 public:
  std::string Write(const std::string& text) const {
    std::ofstream(*this / "experiment.yaml") << text;
    return *this / "experiment.yaml";
  }
};

constexpr char kSmallCircuits[] =
    "name: small\nprotocol: [collision, benes, lock_down]\nd: [4, 5, 6, 7, 8]\nseeds: 1..10\n";

std::string CircuitErrorOf(const std::string& text, const std::vector<std::string>& settings = {}) {
  const CircuitFolder folder;
  const auto experiment = ReadExperiment(folder.Write(text), settings);
  return experiment.ok() ? "" : std::string(experiment.status().message());
}

Report RunAll(const Experiment& experiment, Journal& journal, size_t trials = 1e6) {
  auto report = Measure(experiment, journal, [&](const Progress& p) { return p.done < trials; });
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

TEST(CircuitExperiment, FilesWithAProtocolAreAboutCircuits) {
  const CircuitFolder folder;
  const auto packets = ReadExperiment(
      folder.Write("name: x\nnetwork: butterfly\nd: 1\nrho: 0.5\n# protocol: y\n"), {});
  ASSERT_TRUE(packets.ok()) << packets.status();
  EXPECT_EQ((*packets)->message().GetDescriptor()->name(), "Experiment");
  const auto experiment = ReadExperiment(folder.Write(kSmallCircuits), {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const auto again = ReadExperiment(folder.Write(WriteExperiment(**experiment)), {});
  ASSERT_TRUE(again.ok()) << again.status();
  const auto& circuits = MessageOf<v1::CircuitExperiment>(**again);
  EXPECT_THAT(circuits.q(), ElementsAre(1)) << "what the file does not say has its default";
  EXPECT_THAT(circuits.c(), ElementsAre(0));
}

TEST(CircuitExperiment, WhatCannotBeIsRefusedWithWhatCould) {
  EXPECT_EQ(CircuitErrorOf(kSmallCircuits), "");
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"protocol=colision"}),
              HasSubstr("protocol[0]: \"colision\" is unknown (allowed: minimum, collision"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"protocol=data_server_"}), HasSubstr("is unknown"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"permutation=bitrev,spiral"}),
              HasSubstr("permutation[1]: \"spiral\" is unknown (allowed: random, identity"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"d=21"}), HasSubstr("(allowed: 1 to 20)"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"q=0"}), HasSubstr("(allowed: 1 to 254)"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"claims=benes"}),
              HasSubstr("claims[0]: \"benes\" is unknown"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"protocol=data_server_collision", "d=1"}),
              HasSubstr("d: 1 is too small for data_server_collision (allowed: 2 to 20)"));
  EXPECT_THAT(CircuitErrorOf("name: x\nd: 4\nprotocol: []\n"), HasSubstr("protocol: is missing"));
}

TEST(CircuitExperiment, ErrorsSayOnWhichLineOrInWhichSettingTheyAre) {
  const std::string file =
      "name: x\nd: 4\nprotocol:\n  - benes\n  - colision\nseeds: [1, 2]\nclaims: "
      "[benes_congestion, no]\n";
  EXPECT_THAT(CircuitErrorOf(file),
              HasSubstr("experiment.yaml:5: protocol[1]: \"colision\" is unknown"));
  EXPECT_THAT(CircuitErrorOf(file, {"protocol=greedy"}),
              HasSubstr("experiment.yaml:7: claims[1]: \"no\" is unknown"));
  EXPECT_THAT(CircuitErrorOf(file, {"protocol=greedy,valient", "d=5"}),
              StartsWith("--set protocol=greedy,valient: protocol[1]: \"valient\" is unknown"));
  EXPECT_THAT(
      CircuitErrorOf(file, {"protocol=benes", "claims=benes_congestion", "seeds=1..200000"}),
      HasSubstr("experiment.yaml: the lists and seeds give 200000 trials"));
}

TEST(CircuitExperiment, SettingsAreSweptOnlyForProtocolsThatHaveThem) {
  const CircuitFolder folder;
  const auto experiment = ReadExperiment(folder.Write(kSmallCircuits),
                                         {"d=6", "c=3,4", "q=1,2", "permutation=random,bitrev"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const auto points = CircuitPointsOf(MessageOf<v1::CircuitExperiment>(**experiment));
  ASSERT_TRUE(points.ok());
  std::vector<std::string> names;
  for (const CircuitPoint& point : *points) names.push_back(point.ToString());
  EXPECT_THAT(
      names, ElementsAre("collision random c=3 d=6", "collision random c=4 d=6",
                         "collision bitrev c=3 d=6", "collision bitrev c=4 d=6", "benes random d=6",
                         "benes bitrev d=6", "lock_down q=1 d=6", "lock_down q=2 d=6"));
}

// The smallest c with c! > d is the threshold where the file gives none: 3! = 6 and 4! = 24.
TEST(CircuitExperiment, DifferentValuesThatGiveTheSamePointAreRefused) {
  EXPECT_EQ(CircuitErrorOf("name: x\nd: 6\nprotocol: collision\nc: [0, 5]\n"), "");
  EXPECT_THAT(CircuitErrorOf("name: x\nd: 6\nprotocol: collision\nc: [0, 4]\n"),
              HasSubstr("the lists give the point collision random c=4 d=6 twice"));
}

TEST(CircuitExperiment, SeedsAreWrittenAsARangeAndAreFewerForLargeNetworks) {
  const CircuitFolder folder;
  const std::string file = folder.Write(
      "name: x\nprotocol: [benes, greedy]\nd: 4..7\nseeds: [1..50, 99]\n"
      "seed_limits: [{from_d: 7, seeds: 2}, {from_d: 5, seeds: 10}]\n");
  const auto experiment = ReadExperiment(file, {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const auto& circuits = MessageOf<v1::CircuitExperiment>(**experiment);
  EXPECT_THAT(circuits.d(), ElementsAre(4, 5, 6, 7));
  EXPECT_EQ(SeedsAt(circuits, 4).size(), 51u);
  EXPECT_EQ(SeedsAt(circuits, 4).back(), 99u);
  EXPECT_EQ(SeedsAt(circuits, 6).size(), 10u);
  EXPECT_THAT(SeedsAt(circuits, 7), ElementsAre(1, 2));
  EXPECT_EQ((*experiment)->TrialsOf(*(*experiment)->Sweep()), 2u * (51 + 10 + 10 + 2));
  const auto fewer = ReadExperiment(file, {"seeds=4..6"});
  ASSERT_TRUE(fewer.ok()) << fewer.status();
  const auto& limited = MessageOf<v1::CircuitExperiment>(**fewer);
  EXPECT_THAT(SeedsAt(limited, 6), ElementsAre(4, 5, 6)) << "a limit adds no seeds";
  EXPECT_THAT(SeedsAt(limited, 7), ElementsAre(4, 5));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"seeds=9..3"}), HasSubstr("9..3 is not a range"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"seeds=1..2..3"}),
              HasSubstr("is not a whole number"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"d=18..21"}), HasSubstr("(allowed: 1 to 20)"));
  EXPECT_THAT(CircuitErrorOf(kSmallCircuits, {"seeds=1..100000"}),
              HasSubstr("trials (allowed: 1 to 100000)"));
}

TEST(MeasureCircuits, PassesWhatHoldsAtEverySizeAndGivesTheSameBitsWhenContinued) {
  const CircuitFolder folder;
  const auto experiment = ReadExperiment(folder.Write(kSmallCircuits), {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const std::string configuration = WriteExperiment(**experiment);
  auto whole = Journal::Open(folder / "whole", configuration);
  ASSERT_TRUE(whole.ok()) << whole.status();
  const Report report = RunAll(**experiment, *whole);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.Count(Verdict::kFail), 0) << ClaimsByCurve(report, "protocol", false);
  // Evidence: the tail of Lemma 2.4 and the fraction of lock_down. The three expectations of the
  // Lemma are tested too, but no trial sees such an event, and ten say only that there are at most
  // ln(1 / 4e-5) / 10 = 1.01 in the mean, which is above every bound here. These are 25 tests, and
  // ten trials can refute a tail only where its bound is below 4e-5^(1/10) = 0.363: at n = 2^5 it
  // is 320 / 6! = 0.44. What protocol and network guarantee: congestion and dilation of collision,
  // two loads of its candidates, the congestion of Benes. Theorem 2.1 and its tail say nothing.
  EXPECT_EQ(report.family.tests, 5 * (3 + 1 + 1));
  EXPECT_EQ(report.Count(Verdict::kPass), 4 + 5) << ClaimsByCurve(report, "protocol", true);
  EXPECT_EQ(report.Count(Verdict::kInvariant), 5 * (4 + 1))
      << ClaimsByCurve(report, "protocol", true);
  EXPECT_EQ(report.Count(Verdict::kVacuous), 5 * 2) << ClaimsByCurve(report, "protocol", true);
  EXPECT_EQ(report.Count(Verdict::kNotApplicable), 5 * 3 + 1)
      << ClaimsByCurve(report, "protocol", true);
  EXPECT_EQ(nlohmann::json::parse(ResultsJson(**experiment, report))["verdicts"]["VACUOUS"], 10);
  EXPECT_THAT(report.claims_elsewhere, Contains("valiant_congestion_tail"));

  auto cut = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(cut.ok());
  EXPECT_FALSE(RunAll(**experiment, *cut, 7).complete);
  auto continued = Journal::Open(folder / "cut", configuration);
  ASSERT_TRUE(continued.ok()) << continued.status();
  EXPECT_EQ(ResultsJson(**experiment, RunAll(**experiment, *continued)),
            ResultsJson(**experiment, report));
}

TEST(MeasureCircuits, ClaimsAreOneLineForEachProtocol) {
  const CircuitFolder folder;
  const auto experiment = ReadExperiment(folder.Write(kSmallCircuits), {"claims=benes_congestion,"
                                                                        "theorem_2_1_tail"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  Report report = RunAll(**experiment, *journal);
  const std::vector<std::string> lines =
      absl::StrSplit(ClaimsByCurve(report, "protocol", true), '\n');
  ASSERT_GE(lines.size(), 3u);
  EXPECT_THAT(lines[1], MatchesRegex("theorem_2_1_tail +collision random +5 VACUOUS +d=.*"));
  EXPECT_THAT(lines[2], MatchesRegex("benes_congestion +benes random +5 INVARIANT +d=4: 1 = 1"));
  // One that fails comes first, with the point where it does.
  report.claims.back().verdict = Verdict::kFail;
  report.claims.back().measured = 2;
  EXPECT_THAT(ClaimsByCurve(report, "protocol", false),
              HasSubstr(" 1 FAIL, 4 INVARIANT  d=8: 2 = 1\n"));
}

TEST(CircuitExperiment, ANamedClaimThatAppliesNowhereIsRefused) {
  EXPECT_THAT(
      CircuitErrorOf(kSmallCircuits, {"claims=benes_congestion,q_limited_congestion"}),
      HasSubstr("claims[1]: \"q_limited_congestion\" applies to no point of this experiment: "
                "is about q_limited"));
}

TEST(MeasureCircuits, SecondsAreKeptAndInNoResult) {
  const CircuitFolder folder;
  const auto experiment =
      ReadExperiment(folder.Write(kSmallCircuits), {"protocol=collision", "d=8", "seeds=1..3"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  Report report = RunAll(**experiment, *journal);
  const std::string before = ResultsJson(**experiment, report);
  const double seconds = report.series[0].trials[0].set_up_seconds;
  EXPECT_GT(seconds, 0);
  auto reopened = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(reopened.ok()) << reopened.status();
  EXPECT_DOUBLE_EQ(reopened->Find(0, 1)->set_up_seconds, seconds);
  for (size_t i = 0; i < 3; ++i) report.series[0].trials[i].set_up_seconds = 4.0 - 1.0 * i;
  EXPECT_EQ(ResultsJson(**experiment, report), before) << "a slower machine measures the same";
  EXPECT_THAT(CircuitSecondsCsv("columns", report),
              HasSubstr("\ncollision,two_fold_butterfly,8,random,4,0,0,3.000000,2.000000,4.000000,"
                        "3\n"));
  report.series[0].trials.pop_back();  // 4 s and 3 s are left
  EXPECT_THAT(CircuitSecondsCsv("columns", report), HasSubstr(",3.500000,3.000000,4.000000,2\n"));
}

TEST(MeasureCircuits, SecondsTellTheNetworkAndItsMultiplicity) {
  const CircuitFolder folder;
  const auto experiment = ReadExperiment(
      folder.Write("name: x\nprotocol: minimum\nnetwork: [dilated_butterfly, multibutterfly]\n"
                   "multiplicity: [2, 4]\nd: 4\n"),
      {});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  Report report;
  const auto points = (*experiment)->Sweep();
  ASSERT_TRUE(points.ok()) << points.status();
  for (const Point& point : *points) report.series.push_back({.point = point, .trials = {}});
  const std::string columns = CircuitCsvColumns(MessageOf<v1::CircuitExperiment>(**experiment));
  const std::vector<std::string> lines =
      absl::StrSplit(CircuitSecondsCsv(columns, report), '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 5u);
  EXPECT_EQ(std::set<std::string>(lines.begin(), lines.end()).size(), lines.size());
  for (const std::string& line : lines) {
    EXPECT_EQ(std::count(line.begin(), line.end(), ','), 11) << line;
  }
}

TEST(MeasureCircuits, TailsAreCountsOverTheTrials) {
  Report report;
  Measurement& m = report.series.emplace_back(
      Measurement{.point = CircuitPoint{.protocol = "valiant", .d = 6}, .trials = {}});
  for (const double congestion : {3., 3., 4., 5., 4., 3., 3., 3., 3., 3.}) {
    m.trials.push_back({.batch_delays = {}, .figures = {{"congestion", congestion}}});
  }
  const auto json = nlohmann::json::parse(ResultsJson(*NewCircuitExperiment(), report));
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

Trial TrialOfCongestion(double congestion) {
  return {.batch_delays = {}, .figures = {{"refused", 0}, {"congestion", congestion}}};
}

TEST(MeasureCircuits, ARefusedTrialLeavesTheFiguresOfTheOthers) {
  const Trial refused{.batch_delays = {}, .figures = {{"refused", 1}}};
  for (size_t place = 0; place < 3; ++place) {
    Report report;
    for (int d = 4; d <= 8; ++d) {
      Measurement& m = report.series.emplace_back(
          Measurement{.point = CircuitPoint{.protocol = "disjoint", .d = d}, .trials = {}});
      m.trials = {TrialOfCongestion(d), TrialOfCongestion(d + 1)};
      m.trials.insert(m.trials.begin() + static_cast<std::ptrdiff_t>(place), refused);
    }
    const auto json = nlohmann::json::parse(ResultsJson(*NewCircuitExperiment(), report));
    const auto& point = json["series"][0];
    EXPECT_EQ(point["trials"], 3);
    EXPECT_FALSE(point["refused"].contains("trials")) << "all trials measured it";
    const auto& congestion = point["congestion"];
    EXPECT_EQ(congestion["trials"], 2);
    EXPECT_EQ(congestion["mean"], 4.5);
    EXPECT_EQ(congestion["min"], 4);
    EXPECT_EQ(congestion["max"], 5);
    ASSERT_EQ(congestion["tail"].size(), 1u);
    EXPECT_EQ(congestion["tail"][0]["at_least"], 5);
    EXPECT_EQ(congestion["tail"][0]["trials"], 1);
    EXPECT_EQ(congestion["tail"][0]["probability"], 0.5);
    EXPECT_THAT(FigureCsv("columns", report.series),
                AllOf(HasSubstr(",congestion,4.5,"), HasSubstr(",4,5,2\n"), Not(HasSubstr("nan"))));
    // Congestion grows as log n + 1/2.
    for (const auto& fit : json["fits"]) {
      if (fit["shape"] != "log n") continue;
      EXPECT_EQ(fit["sizes"], 5);
      EXPECT_NEAR(fit["slope"], 1, 1e-9);
    }
    EXPECT_FALSE(json["fits"].empty());
  }
}

TEST(MeasureCircuits, TailsOfTwoPermutationsAreTwoLines) {
  Report report;
  for (const char* permutation : {"identity", "bitrev"}) {
    ClaimResult& claim = report.claims.emplace_back();
    claim.id = "valiant_congestion_tail";
    claim.point = CircuitPoint{.protocol = "valiant", .d = 6, .permutation = permutation};
    claim.tail = Tail{.event = "congestion >= 5"};
  }
  EXPECT_THAT(TailTable(report),
              AllOf(HasSubstr(" valiant identity "), HasSubstr(" valiant bitrev ")));
}

TEST(CircuitExperiment, AKeyThatNothingInTheFileHasIsRefused) {
  const std::string minimum = "name: x\nprotocol: minimum\nd: 8\n";
  EXPECT_EQ(CircuitErrorOf(minimum, {"q=1", "c=0", "multiplicity=2"}), "") << "these are defaults";
  EXPECT_THAT(CircuitErrorOf(minimum, {"q=1,2,4"}), HasSubstr("q: nothing in this file uses"));
  EXPECT_THAT(CircuitErrorOf(minimum, {"c=4"}), HasSubstr("c: nothing in this file uses"));
  EXPECT_THAT(CircuitErrorOf(minimum, {"c_disk=4"}),
              HasSubstr("c_disk: nothing in this file uses"));
  EXPECT_THAT(CircuitErrorOf(minimum, {"multiplicity=4"}),
              HasSubstr("multiplicity: nothing in this file uses"));
  EXPECT_EQ(CircuitErrorOf(minimum, {"network=multibutterfly", "multiplicity=4"}), "");
  EXPECT_THAT(CircuitErrorOf(minimum, {"protocol=lock_down", "permutation=bitrev"}),
              HasSubstr("permutation: nothing in this file uses"));
}

}  // namespace
}  // namespace bfly::control
