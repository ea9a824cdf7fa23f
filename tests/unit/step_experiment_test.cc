// SPDX-License-Identifier: Apache-2.0
// Experiments about step programs: what a file may say, trials of waves against counts by hand,
// claims on made-up figures, and the shipped file cut short.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "control/measure/core/journal.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "control/measure/steps/step_drawing.h"
#include "control/measure/steps/step_fits.h"
#include "control/measure/steps/step_program.h"
#include "control/measure/steps/waves_theory.h"
#include "tests/temporary_folder.h"
#include "tests/unit/checked_claim.h"
#include "topologies/splitter.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

const TemporaryFolder& TestFolder() {
  static const TemporaryFolder folder;
  return folder;
}

// Reads a file of program: waves and d: [2] with these settings over it.
absl::StatusOr<std::unique_ptr<Experiment>> Read(const std::vector<std::string>& settings) {
  const std::string path = TestFolder() / "small.yaml";
  EXPECT_TRUE(WriteFile(path, "name: small\nprogram: waves\nd: 2\n").ok());
  return ReadExperiment(path, settings);
}

std::string Refusal(const std::vector<std::string>& settings) {
  return std::string(Read(settings).status().message());
}

std::vector<std::string> PointsOfFile(const std::vector<std::string>& settings) {
  const auto experiment = Read(settings);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  const auto points = (*experiment)->Sweep();
  std::vector<std::string> names;
  for (const Point& point : *points) names.push_back(point.ToString());
  return names;
}

// The only trial of the file's only point.
Trial TrialOf(const std::vector<std::string>& settings) {
  const auto experiment = Read(settings);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  const auto points = (*experiment)->Sweep();
  EXPECT_EQ(points->size(), 1u);
  auto trial = (*experiment)->Run((*points)[0], 1, [] { return false; });
  EXPECT_TRUE(trial.ok()) << trial.status();
  return *std::move(trial);
}

Report MeasuredSteps(const Experiment& experiment) {
  std::filesystem::remove_all(TestFolder() / "out");
  auto journal = Journal::Open(TestFolder() / "out", WriteExperiment(experiment));
  EXPECT_TRUE(journal.ok()) << journal.status();
  auto report = Measure(experiment, *journal, [](const Progress&) { return true; });
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

TEST(StepExperiment, ProgramsSweepTheKeysThatTheyHave) {
  EXPECT_THAT(PointsOfFile({}),
              ElementsAre("waves multibutterfly multiplicity=2 keep random waves=4 d=2"));
  // A butterfly has one link a direction.
  EXPECT_THAT(
      PointsOfFile({"network=butterfly,multibutterfly", "multiplicity=1,2", "d=2,3",
                    "permutation=bitrev", "waves=1"}),
      ElementsAre("waves butterfly bitrev waves=1 d=2", "waves butterfly bitrev waves=1 d=3",
                  "waves multibutterfly multiplicity=1 keep bitrev waves=1 d=2",
                  "waves multibutterfly multiplicity=1 keep bitrev waves=1 d=3",
                  "waves multibutterfly multiplicity=2 keep bitrev waves=1 d=2",
                  "waves multibutterfly multiplicity=2 keep bitrev waves=1 d=3"));
}

TEST(StepExperiment, PointsHaveTheirKeysInResults) {
  const auto experiment = Read({});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const Point point = (*(*experiment)->Sweep())[0];
  EXPECT_EQ(point.json().dump(),
            R"({"program":"waves","d":2,"rows":4,"n":4,"network":"multibutterfly",)"
            R"("multiplicity":2,"parallel_edges":"keep","permutation":"random","waves":4})");
  EXPECT_THAT(StepCsvColumns(), HasSubstr("program,d,network,multiplicity,parallel_edges,"));
  EXPECT_THAT(point.csv(), HasSubstr("waves,2,multibutterfly,2,keep,random,4,"));
  const std::string columns = StepCsvColumns();
  EXPECT_EQ(std::count(columns.begin(), columns.end(), ','),
            std::count(point.csv().begin(), point.csv().end(), ','));
}

TEST(StepExperiment, WrongFilesAreRefused) {
  EXPECT_THAT(Refusal({"h=4"}),
              HasSubstr("--set h=4: h: waves does not have this key (its keys: d, "
                        "network, multiplicity, parallel_edges, permutation, "
                        "waves)"));
  EXPECT_THAT(Refusal({"t=1"}), HasSubstr("t: waves does not have this key"));
  EXPECT_THAT(Refusal({"program=[waves, waves]"}), HasSubstr("program[1]: waves is listed twice"));
  EXPECT_THAT(Refusal({"program=ripples"}), HasSubstr("ripples"));
  EXPECT_THAT(Refusal({"d=21"}), HasSubstr("allowed: 1 to 20"));
  EXPECT_THAT(Refusal({"waves=0"}), HasSubstr("waves"));
  EXPECT_THAT(Refusal({"waves=2,8"}), HasSubstr("waves: 8 waves are more than the rows, 4"));
  EXPECT_THAT(Refusal({"permutation=sorted"}), HasSubstr("permutation: "));
  EXPECT_THAT(Refusal({"network=hypercube"}), HasSubstr("network: waves do not run on hypercube"));
  EXPECT_THAT(Refusal({"multiplicity=17"}), HasSubstr("multiplicity"));
  // 4 rows have splitters of two outputs a side.
  EXPECT_THAT(Refusal({"multiplicity=4"}), HasSubstr("multiplicity: 4"));
  EXPECT_THAT(Refusal({"parallel_edges=many"}), HasSubstr("many"));
  EXPECT_THAT(Refusal({"workers=0"}), HasSubstr("workers"));
  EXPECT_THAT(Refusal({"claims=[ripples]"}), HasSubstr("waves_parity"));
  EXPECT_THAT(Refusal({"network=butterfly", "claims=[waves_2T]"}),
              HasSubstr("is about multibutterflies"));
  EXPECT_THAT(Refusal({"seed_limits=[{from_d: 30, seeds: 1}]"}), HasSubstr("from_d"));
}

TEST(StepExperiment, TheEffectiveConfigurationReadsBack) {
  const auto experiment = Read({"waves=1,2", "seeds=1..4", "seed_limits=[{from_d: 3, seeds: 2}]"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const std::string written = WriteExperiment(**experiment);
  EXPECT_THAT(written, HasSubstr("\"multiplicity\": [\n    2\n  ]")) << "defaults are told";
  ASSERT_TRUE(WriteFile(TestFolder() / "again.yaml", written).ok());
  const auto again = ReadExperiment(TestFolder() / "again.yaml", {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(WriteExperiment(**again), written);
  EXPECT_EQ(ResultsJson(**again, MeasuredSteps(**again)),
            ResultsJson(**experiment, MeasuredSteps(**experiment)));
}

TEST(StepExperiment, FewerSeedsWhereTheFileSaysSo) {
  const auto experiment = Read({"d=2,3", "seeds=1..9", "seed_limits=[{from_d: 3, seeds: 4}]"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const auto points = (*experiment)->Sweep();
  EXPECT_EQ((*experiment)->SeedsAt((*points)[0]).size(), 9u);
  EXPECT_EQ((*experiment)->SeedsAt((*points)[1]).size(), 4u);
}

// On a butterfly of 4 rows the reversal sends rows 0 and 2 over node (1, 0) and rows 1 and 3 over
// node (1, 3): two packets cross in the first phase, are delivered in the second one, and the other
// two follow.
TEST(StepExperiment, ATrialOfWavesCountsWhatHandsCount) {
  const double omega = std::sqrt(0.5);
  const Trial trial = TrialOf({"network=butterfly", "permutation=bitrev", "waves=1"});
  EXPECT_EQ(trial.figure("phases"), 4);
  EXPECT_EQ(trial.figure("mean_phases"), 4);
  EXPECT_EQ(trial.figure("steps"), 8);
  EXPECT_EQ(trial.figure("packets"), 4);
  EXPECT_EQ(trial.figure("left"), 0);
  EXPECT_EQ(trial.figure("moves_per_packet"), 2);
  EXPECT_EQ(trial.figure("wrong_parity"), 0);
  EXPECT_EQ(trial.figure("paths"), 1);
  // The potentials are 4, 2 + 2 omega, 2, 2 omega, 0.
  EXPECT_NEAR(trial.figure("potential"), 0.5, 1e-12);
  EXPECT_NEAR(trial.figure("potential_one_phase"), (1 + omega) / 2, 1e-12);
  EXPECT_TRUE(std::isnan(trial.figure("expansion")));

  const Trial waves = TrialOf({"network=butterfly", "permutation=bitrev", "waves=4"});
  EXPECT_EQ(waves.figure("phases"), 2) << "one packet each";
  EXPECT_EQ(waves.figure("fewest_phases"), 2);
  EXPECT_EQ(waves.figure("phases_in_all"), 8);
  EXPECT_NEAR(waves.figure("potential_one_phase"), omega, 1e-12);
}

TEST(StepExperiment, TrialsDoNotDependOnWorkers) {
  const std::vector<std::string> file = {"d=7", "multiplicity=3", "waves=3"};
  std::vector<std::string> shared = file;
  shared.push_back("workers=3");
  EXPECT_EQ(TrialOf(file).figures, TrialOf(shared).figures);
}

TEST(WavesTheory, PhasesAreThoseOfTheTable) {
  // beta, waves, and T for 2^10, 2^14 and 2^20 rows. THEORY.md takes n / L packets of a wave where
  // the largest wave has the ceiling of it, and has 73 for 322 waves and 130 for 11.
  const double table[][5] = {{1.5, 27, 268, 444, 707}, {2, 322, 77, 144, 250},
                             {2, 11, 131, 201, 307},   {2, 6, 141, 211, 317},
                             {3, 16, 64, 98, 150},     {3, 7, 70, 104, 156},
                             {4, 13, 48, 73, 110},     {8, 48, 27, 42, 65}};
  for (const auto& [beta, waves, at_10, at_14, at_20] : table) {
    EXPECT_EQ(WavePhases(10, static_cast<uint32_t>(waves), beta), at_10) << beta;
    EXPECT_EQ(WavePhases(14, static_cast<uint32_t>(waves), beta), at_14) << beta;
    EXPECT_EQ(WavePhases(20, static_cast<uint32_t>(waves), beta), at_20) << beta;
  }
  // The largest of 24 waves of 64 packets has 3: (5 log sqrt 2 + log 3) / log(3 / (2 sqrt 2)) =
  // (2.5 + 1.585) / 0.08496 = 48.08.
  EXPECT_EQ(WavePhases(6, 24, 2), 49);
  EXPECT_EQ(WavePhases(1, 2, 16), 1) << "the potential must fall below 1, not to 1";
  EXPECT_NEAR(WaveDelta(4), 0.8, 1e-12);
  EXPECT_TRUE(std::isinf(WavePhases(10, 4, 0))) << "without expansion nothing is promised";
}

TEST(WavesTheory, LemmaOneGrantsWhatTheTableSays) {
  // c and L of the table give its beta, or a little more because L is rounded up.
  for (const auto& [c, waves, beta] : {std::tuple(4, 322, 2.), std::tuple(6, 11, 2.),
                                       std::tuple(12, 7, 3.), std::tuple(16, 48, 8.)}) {
    EXPECT_GE(GrantedExpansion(c, waves), beta) << c;
    EXPECT_LT(GrantedExpansion(c, waves), beta + 0.1) << c;
  }
  EXPECT_EQ(GrantedExpansion(2, 4), 0);
  EXPECT_EQ(GrantedExpansion(1, 1000), 0);
}

// The fewest neighbours an input among all sets of up to `most` inputs of a side.
double PlainExpansion(const SplitterSide& side, uint32_t most) {
  double least = HUGE_VAL;
  for (uint32_t set = 1; set < uint32_t{1} << side.inputs; ++set) {
    std::set<uint32_t> outputs;
    uint32_t size = 0;
    for (uint32_t input = 0; input < side.inputs; ++input) {
      if ((set >> input & 1) == 0) continue;
      ++size;
      for (int k = 0; k < side.degree; ++k) {
        outputs.insert(side.heads[input * static_cast<uint32_t>(side.degree) + k]);
      }
    }
    if (size <= most) least = std::min(least, static_cast<double>(outputs.size()) / size);
  }
  return least;
}

TEST(WavesTheory, CertainExpansionIsTheExactOneOfSmallSplitters) {
  for (const uint64_t seed : {1, 2, 3}) {
    const auto network = Network::Make(
        {.kind = NetworkKind::kMultibutterfly, .rows = 8, .seed = seed, .multiplicity = 4});
    ASSERT_TRUE(network.ok());
    for (const uint32_t waves : {1, 2, 3, 4}) {
      double least = HUGE_VAL;
      for (int stage = 0; stage < 3; ++stage) {
        const uint32_t inputs = 8u >> stage;
        for (uint32_t splitter = 0; inputs > waves && splitter < 1u << stage; ++splitter) {
          for (const int direction : {0, 1}) {
            least = std::min(least, PlainExpansion(SideOf(*network, stage, splitter, direction),
                                                   (inputs / 2 + waves - 1) / waves));
          }
        }
      }
      EXPECT_EQ(CertainExpansion(*network, waves), least) << seed << " " << waves;
    }
    EXPECT_TRUE(std::isinf(CertainExpansion(*network, 8)));
  }
}

// A larger splitter's certificate is no more than what some sets of it have.
TEST(WavesTheory, CertainExpansionIsABound) {
  const auto network = Network::Make(
      {.kind = NetworkKind::kMultibutterfly, .rows = 64, .seed = 5, .multiplicity = 12});
  ASSERT_TRUE(network.ok());
  const double beta = CertainExpansion(*network, 4);
  EXPECT_GT(beta, 1);
  const SplitterSide side = SideOf(*network, 0, 0, 0);
  std::set<uint32_t> outputs;
  for (uint32_t k = 1; k <= 8; ++k) {
    const std::vector<uint32_t> more = side.NeighboursOf(k - 1);
    outputs.insert(more.begin(), more.end());
    EXPECT_GE(static_cast<double>(outputs.size()), beta * k);
  }
  const auto large = Network::Make(
      {.kind = NetworkKind::kMultibutterfly, .rows = 4096, .seed = 5, .multiplicity = 4});
  EXPECT_EQ(CertainExpansion(*large, 4), 0);
}

// A point of waves with made-up figures of one trial.
Measurement MadeUp(const std::map<std::string, double>& figures, double waves = 322,
                   double multiplicity = 4) {
  Measurement m{.point = StepPoint{.program = "waves",
                                   .d = 10,
                                   .values = {{"network", "multibutterfly"},
                                              {"multiplicity", multiplicity},
                                              {"permutation", "random"},
                                              {"waves", waves}}},
                .trials = {}};
  m.trials.push_back({.batch_delays = {}, .figures = figures});
  return m;
}

Verdict VerdictOn(const std::string& claim, const Measurement& m) {
  const auto experiment = Read({});
  return Check(*(*ClaimsNamed((*experiment)->Claims(), {claim}))[0], m).verdict;
}

TEST(WavesClaims, FailWhereFiguresBreakThem) {
  struct Case {
    const char* claim;
    const char* figure;
    double holds;
    double breaks;
    Verdict held;
  };
  for (const Case& c : {Case{"waves_T", "most_of_T", 1, 1.01, Verdict::kPass},
                        Case{"waves_2T", "most_of_2T", 0.5, 1.01, Verdict::kPass},
                        Case{"waves_LT", "all_of_LT", 0.9, 1.2, Verdict::kPass},
                        Case{"waves_lemma_3", "potential_over_delta", 1, 1.001, Verdict::kPass},
                        Case{"waves_fewest_phases", "fewest_phases", 10, 8, Verdict::kInvariant},
                        Case{"waves_parity", "wrong_parity", 0, 1, Verdict::kInvariant},
                        Case{"waves_deliver", "left", 0, 2, Verdict::kInvariant},
                        Case{"waves_links", "moves_per_packet", 10, 10.001, Verdict::kInvariant},
                        Case{"waves_paths", "paths", 1048576, 1048575, Verdict::kInvariant}}) {
    EXPECT_EQ(VerdictOn(c.claim, MadeUp({{c.figure, c.holds}})), c.held) << c.claim;
    EXPECT_EQ(VerdictOn(c.claim, MadeUp({{c.figure, c.breaks}})), Verdict::kFail) << c.claim;
  }
  EXPECT_EQ(VerdictOn("waves_2T", MadeUp({{"phases", 10}})), Verdict::kNotApplicable);
}

TEST(WavesClaims, TheoremOneNeedsWiringsThatExpand) {
  const double granted = GrantedExpansion(4, 322);
  const double phases = WavePhases(10, 322, granted);
  const auto figures = [&](double expansion, double measured) {
    return MadeUp({{"expansion", expansion}, {"phases", measured}});
  };
  EXPECT_EQ(VerdictOn("waves_theorem_1", figures(granted, phases)), Verdict::kPass);
  EXPECT_EQ(VerdictOn("waves_theorem_1", figures(granted, phases + 1)), Verdict::kFail);
  EXPECT_EQ(VerdictOn("waves_theorem_1_twice", figures(granted, phases + 1)), Verdict::kPass);
  EXPECT_EQ(VerdictOn("waves_theorem_1_twice", figures(granted, 2 * phases + 1)), Verdict::kFail);
  EXPECT_EQ(VerdictOn("waves_theorem_1", figures(granted - 0.5, phases)), Verdict::kNotApplicable);
  EXPECT_EQ(VerdictOn("waves_theorem_1", MadeUp({{"phases", 12}})), Verdict::kNotApplicable);
  EXPECT_EQ(VerdictOn("waves_theorem_1", MadeUp({{"phases", 12}}, 2)), Verdict::kVacuous);
  EXPECT_EQ(VerdictOn("waves_lemma_3_one_phase", MadeUp({{"potential_one_phase", 1}})),
            Verdict::kVacuous);
}

TEST(StepExperiment, FiguresAreFittedAndDrawn) {
  Report report;
  for (const int d : {4, 6, 8, 10}) {
    Measurement m = MadeUp({{"phases", 3. * d + 2}, {"potential", 0.5}});
    StepPoint point = static_cast<const StepPoint&>(m.point);
    point.d = d;
    m.point = point;
    report.series.push_back(m);
  }
  const nlohmann::ordered_json fits = StepFitsJson(report);
  bool fitted = false;
  for (const auto& fit : fits) {
    if (fit["figure"] != "phases" || fit["shape"] != "log n") continue;
    fitted = true;
    EXPECT_NEAR(fit["slope"].get<double>(), 3, 1e-9);
    EXPECT_NEAR(fit["intercept"].get<double>(), 2, 1e-9);
    EXPECT_NEAR(fit["r_squared"].get<double>(), 1, 1e-9);
    EXPECT_EQ(fit["stated"], true);
  }
  EXPECT_TRUE(fitted) << fits;
  EXPECT_THAT(StepFitTable(report), HasSubstr("log n *"));

  const nlohmann::ordered_json series = nlohmann::ordered_json::parse(R"([
    {"point": {"program": "waves", "d": 6, "permutation": "random", "waves": 8},
     "phases": {"mean": 7, "ci95": 1}},
    {"point": {"program": "waves", "d": 4, "permutation": "random", "waves": 8},
     "phases": {"mean": 5, "ci95": null}},
    {"point": {"program": "waves", "d": 4, "permutation": "bitrev", "waves": 1},
     "phases": {"mean": 9, "ci95": 1}}])");
  const std::vector<Figure> figures = StepFigures("title", series);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].name, "waves-phases");
  ASSERT_EQ(figures[0].panels.size(), 2u);
  EXPECT_EQ(figures[0].panels[0].title, "random");
  ASSERT_EQ(figures[0].panels[0].curves.size(), 1u);
  EXPECT_EQ(figures[0].panels[0].curves[0].label, "waves = 8");
  ASSERT_EQ(figures[0].panels[0].curves[0].points.size(), 2u);
  EXPECT_EQ(figures[0].panels[0].curves[0].points[0].y, 5) << "ascending in x";
  EXPECT_EQ(figures[0].panels[1].curves[0].points[0].high, 10);
}

TEST(ShippedSteps, Waves) {
  const auto experiment = ReadExperiment(
      std::string(std::getenv("BFLY_SOURCE_ROOT")) + "/topologies/experiments/waves.yaml",
      {"d=5,6,7,8", "waves=1,8,32", "seeds=1"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  const Report report = MeasuredSteps(**experiment);
  EXPECT_EQ(report.Count(Verdict::kFail), 0) << (*experiment)->Summary(report);
  std::map<Verdict, std::set<std::string>> judged;
  for (const ClaimResult& claim : report.claims) judged[claim.verdict].insert(claim.id);
  EXPECT_THAT(judged[Verdict::kPass],
              IsSupersetOf({"waves_T", "waves_2T", "waves_LT", "waves_lemma_3"}));
  EXPECT_THAT(judged[Verdict::kInvariant],
              IsSupersetOf({"waves_fewest_phases", "waves_parity", "waves_deliver", "waves_links",
                            "waves_paths"}));
  EXPECT_THAT(judged[Verdict::kVacuous],
              IsSupersetOf({"waves_theorem_1", "waves_lemma_3_one_phase"}));
  nlohmann::ordered_json results;
  (*experiment)->AddResults(report, results);
  for (const char* figure : {"phases", "steps", "packets", "potential"}) {
    for (const auto& row : results["series"]) EXPECT_TRUE(row.contains(figure)) << row;
  }
  EXPECT_FALSE(results["fits"].empty());
  EXPECT_FALSE((*experiment)->Figures(results)->empty());
}

}  // namespace
}  // namespace bfly::control
