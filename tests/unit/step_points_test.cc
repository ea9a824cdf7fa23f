// SPDX-License-Identifier: Apache-2.0
// Points of step programs: their names, defaults that depend on d, and figures that trials share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "control/measure/core/journal.h"
#include "control/measure/experiment_file.h"
#include "control/measure/measure.h"
#include "control/measure/steps/step_drawing.h"
#include "control/measure/steps/step_program.h"
#include "tests/temporary_folder.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<std::unique_ptr<Experiment>> ReadWith(const TemporaryFolder& folder,
                                                     const std::vector<std::string>& settings) {
  const std::string path = folder / "small.yaml";
  EXPECT_TRUE(WriteFile(path, "name: small\nprogram: waves\nd: 2\n").ok());
  return ReadExperiment(path, settings);
}

std::vector<std::string> PointsWith(const std::vector<std::string>& settings) {
  const TemporaryFolder folder;
  const auto experiment = ReadWith(folder, settings);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  const auto points = (*experiment)->Sweep();
  std::vector<std::string> names;
  for (const Point& point : *points) names.push_back(point.ToString());
  return names;
}

TEST(StepPoints, PointsNameWhatCannotNameItself) {
  EXPECT_THAT(PointsWith({"program=extra_stages", "renaming=[false, true]", "t=3", "r=1"}),
              ElementsAre("extra_stages random renaming=false priority t=3 r=1 d=2",
                          "extra_stages random renaming=true priority t=3 r=1 d=2"));
}

TEST(StepPoints, TheShareOfAnHRelationIsAtMostTheRowsUnlessTheFileGivesIt) {
  EXPECT_THAT(PointsWith({"program=h_relation", "multiplicity=4", "d=4,6"}),
              ElementsAre(HasSubstr("share=16 "), HasSubstr("share=32 ")));
  const TemporaryFolder folder;
  EXPECT_THAT(
      std::string(ReadWith(folder, {"program=h_relation", "multiplicity=4", "d=4", "share=32"})
                      .status()
                      .message()),
      HasSubstr("share: 32 is not a power of two in 1..16"));
}

TEST(StepPoints, TheWavesAreAtMostTheRowsUnlessTheFileGivesThem) {
  EXPECT_THAT(
      PointsWith({"multiplicity=1", "d=1,2,3"}),
      ElementsAre(HasSubstr("waves=2 d=1"), HasSubstr("waves=4 d=2"), HasSubstr("waves=4 d=3")));
  const TemporaryFolder folder;
  EXPECT_THAT(
      std::string(ReadWith(folder, {"multiplicity=1", "d=1", "waves=4"}).status().message()),
      HasSubstr("waves: 4 waves are more than the rows, 2"));
}

TEST(StepPoints, WholeNumbersHaveAllTheirDigits) {
  const StepPoint point{.program = "waves", .d = 20, .values = {{"waves", 1048576.0}}};
  EXPECT_EQ(point.ToString(), "waves waves=1048576 d=20");
  EXPECT_THAT(point.ToCsv(), HasSubstr(",1048576,"));
}

// On two rows a wave of one packet takes one phase, which is what Theorem 1 allows.
TEST(StepPoints, TheSmallestWavesHaveFiguresThatAJournalKeeps) {
  const TemporaryFolder folder;
  const auto experiment = ReadWith(folder, {"multiplicity=1", "d=1", "claims=waves_T"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  const auto report = Measure(**experiment, *journal, [](const Progress&) { return true; });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->series[0].trials[0].figure("most_of_T"), 1);
  EXPECT_EQ(report->Count(Verdict::kPass), 1) << (*experiment)->Summary(*report);
  const auto reopened = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(reopened.ok()) << reopened.status();
  EXPECT_NE(reopened->Find(0, 1), nullptr);
}

// Trials of an experiment share figures; a trial by itself computes them.
TEST(StepPoints, SharedFiguresAreThoseThatATrialComputes) {
  const TemporaryFolder folder;
  const auto experiment =
      ReadWith(folder, {"program=extra_stages", "d=4", "t=20", "r=[0, 2, 5]", "seeds=1,2"});
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  auto journal = Journal::Open(folder / "out", WriteExperiment(**experiment));
  ASSERT_TRUE(journal.ok()) << journal.status();
  const auto report = Measure(**experiment, *journal, [](const Progress&) { return true; });
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->series.size(), 3u);
  const StepProgram* program = FindStepProgram("extra_stages");
  const std::function<bool()> never = [] { return false; };
  for (const Measurement& measured : report->series) {
    for (const Trial& trial : measured.trials) {
      const StepPoint& point = measured.point;
      EXPECT_EQ(trial.figures,
                *program->run(point, {.seed = trial.seed, .workers = 1, .interrupted = never}));
    }
  }
  // By the definition: each over the mean latency of the same seed without extra stages.
  for (size_t seed = 0; seed < 2; ++seed) {
    const Trial& without = report->series[0].trials[seed];
    const Trial& with = report->series[2].trials[seed];
    EXPECT_DOUBLE_EQ(with.figure("over_no_extra"),
                     with.figure("mean_latency") / without.figure("mean_latency"));
  }
}

// Of mean latency at n = 12, t = 50, r = 4:
// -12.90 + 3.18 * 12 + 0.75 * 50 + (0.69 + 0.07 * 12) * 50 / 16 + 3.20 * 4 = 80.34125.
TEST(StepPoints, RingsAreTheFormulasOfThePaperWhereItFittedThem) {
  const nlohmann::ordered_json series = nlohmann::ordered_json::parse(R"([
    {"point": {"program": "extra_stages", "d": 12, "t": 50, "r": 4},
     "mean_latency": {"mean": 79.5, "ci95": 1}},
    {"point": {"program": "extra_stages", "d": 12, "t": 1, "r": 4},
     "mean_latency": {"mean": 32.9, "ci95": 1}},
    {"point": {"program": "extra_stages", "d": 8, "t": 50, "r": 4},
     "mean_latency": {"mean": 60, "ci95": 1}}])");
  const std::vector<Figure> figures = StepFigures("title", series);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_EQ(figures[0].rings, "what the paper gives");
  ASSERT_EQ(figures[0].panels.size(), 2u);
  ASSERT_EQ(figures[0].panels[0].curves.size(), 2u);
  const FigurePoint& fitted = figures[0].panels[0].curves[0].points[0];
  EXPECT_EQ(fitted.y, 79.5);
  EXPECT_NEAR(fitted.exact, 80.34125, 1e-9);
  EXPECT_TRUE(std::isnan(figures[0].panels[0].curves[1].points[0].exact)) << "t = 1";
  EXPECT_TRUE(std::isnan(figures[0].panels[1].curves[0].points[0].exact)) << "256 rows";
}

}  // namespace
}  // namespace bfly::control
