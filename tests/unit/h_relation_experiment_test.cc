// SPDX-License-Identifier: Apache-2.0
// h-relations as a program of experiments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/measure/steps/step_program.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

StepPoint PointOf(const std::string& relation, double h, double share) {
  return {.program = "h_relation",
          .d = 7,
          .values = {{"network", "multibutterfly"},
                     {"multiplicity", 16.0},
                     {"parallel_edges", "keep"},
                     {"permutation", relation},
                     {"neighbours", 8.0},
                     {"share", share},
                     {"iterations", 4.0},
                     {"rounds", 3.0},
                     {"h", h}}};
}

TEST(HRelationExperiment, HasTheFiguresCountedByHand) {
  const StepProgram* program = FindStepProgram("h_relation");
  ASSERT_NE(program, nullptr);
  const StepPoint point = PointOf("bitrev", 4, 32);
  ASSERT_TRUE(program->check(point).ok());
  const std::function<bool()> never = [] { return false; };
  auto figures = *program->run(point, {.seed = 1, .workers = 1, .interrupted = never});
  EXPECT_EQ(figures["messages"], 128 * 4);
  EXPECT_EQ(figures["left"], 0);
  EXPECT_EQ(figures["h_bar"], 256);  // above 4 * 16 * 8 / 4, because h < R
  EXPECT_EQ(figures["weight"], 8);   // 4 messages for one row
  EXPECT_EQ(figures["most_links"], 7);
  EXPECT_EQ(figures["fewest_links"], 7);
  // Every output gets 4 messages, and W never exceeds h or R, so nobody waits.
  EXPECT_EQ(figures["stages"], 7);
  EXPECT_EQ(figures["blocked"], 0);
  EXPECT_EQ(figures["congestion"], 4);
  // 512 buffers of 2 + 2 + 3 bits, four counters of 9 bits and two flags.
  EXPECT_EQ(figures["storage"], 512 * 7 + 4 * 9 + 2);
}

TEST(HRelationExperiment, AskedToEndItEndsAfterAStage) {
  int asked = 0;
  const std::function<bool()> at_the_second = [&] { return ++asked == 2; };
  const auto figures =
      FindStepProgram("h_relation")
          ->run(PointOf("bitrev", 4, 32), {.seed = 1, .workers = 1, .interrupted = at_the_second});
  EXPECT_EQ(figures.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
}

TEST(HRelationExperiment, RefusesPointsThatTheAlgorithmIsNotDefinedFor) {
  const StepProgram* program = FindStepProgram("h_relation");
  EXPECT_THAT(program->check(PointOf("random", 4, 256)).message(), HasSubstr("share: 256"));
  StepPoint butterfly = PointOf("random", 4, 32);
  butterfly.values[0].second = "dilated_butterfly";
  butterfly.values[1].second = 2.0;
  butterfly.values.erase(butterfly.values.begin() + 2);  // no parallel_edges
  EXPECT_THAT(
      program->check(butterfly).message(),
      HasSubstr("network: the h-relation algorithm is defined on a multibutterfly, not on a "
                "dilated_butterfly"));
}

}  // namespace
}  // namespace bfly::control
