// SPDX-License-Identifier: Apache-2.0
// Parts of the shipped experiments about the programs extra_stages and store_and_forward.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "control/measure/core/family.h"
#include "control/measure/experiment_file.h"
#include "control/measure/steps/extra_stages_fit.h"

namespace bfly::control {
namespace {

using ::testing::HasSubstr;

// A part of a shipped file: no claim fails, and these pass.
Report RunShipped(const std::string& name, const std::vector<std::string>& settings) {
  Report report;
  const auto experiment = ReadExperiment(
      std::string(std::getenv("BFLY_SOURCE_ROOT")) + "/topologies/experiments/" + name, settings);
  EXPECT_TRUE(experiment.ok()) << experiment.status();
  if (!experiment.ok()) return report;
  const auto points = (*experiment)->Sweep();
  EXPECT_TRUE(points.ok()) << points.status();
  if (!points.ok()) return report;
  for (const Point& point : *points) {
    Measurement measurement{.point = point, .trials = {}};
    for (const uint64_t seed : (*experiment)->SeedsAt(point)) {
      const auto trial = (*experiment)->Run(point, seed, [] { return false; });
      EXPECT_TRUE(trial.ok()) << trial.status();
      if (trial.ok()) measurement.trials.push_back(*trial);
    }
    for (const Claim& claim : (*experiment)->Claims()) {
      if (!claim.about || claim.about(point).empty()) {
        report.claims.push_back(Examine(claim, measurement));
      }
    }
    report.series.push_back(std::move(measurement));
  }
  report.family = Decide(report.claims);
  EXPECT_EQ(report.Count(Verdict::kFail), 0) << (*experiment)->Summary(report);
  EXPECT_GT(report.Count(Verdict::kPass), 0);
  nlohmann::ordered_json results;
  (*experiment)->AddResults(report, results);
  for (const auto& row : results["series"]) {
    EXPECT_TRUE(row.contains("mean_latency")) << row;
    EXPECT_TRUE(row.contains("max_latency")) << row;
    EXPECT_TRUE(row["point"].contains("rows")) << row;
  }
  EXPECT_FALSE((*experiment)->Figures(results)->empty());
  return report;
}

TEST(ShippedStepPrograms, ExtraStages) {
  const Report report = RunShipped("extra-stages.yaml", {"d=4,6", "t=1,10,20", "workers=1"});
  for (const Measurement& m : report.series) {
    EXPECT_TRUE(m.point.json().contains("r"));
    EXPECT_TRUE(m.point.json().contains("t"));
  }
  EXPECT_THAT(ExtraStagesFitTable(report), HasSubstr("published"));
  const nlohmann::ordered_json fits = ExtraStagesFitJson(report);
  EXPECT_EQ(fits["formulas"].size(), 2u);
  EXPECT_GT(fits["formulas"][0]["r_squared"], 0.9);
  EXPECT_EQ(fits["best"].size(), 4u);
}

TEST(ShippedStepPrograms, LeightonMaggs) {
  RunShipped("leighton-maggs.yaml", {"h=4", "faults=0,20", "seeds=1..10"});
}

}  // namespace
}  // namespace bfly::control
