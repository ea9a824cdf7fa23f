// SPDX-License-Identifier: Apache-2.0
// h-relations as a program of experiments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/measure/core/claim.h"
#include "control/measure/steps/step_program.h"
#include "tests/unit/checked_claim.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

StepPoint PointOf(const std::string& relation, double h, double share, double columns = 0) {
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
                     {"columns", columns},
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

TEST(HRelationExperiment, HasTheFiguresOfPacks) {
  const std::function<bool()> never = [] { return false; };
  auto figures =
      *FindStepProgram("h_relation")
           ->run(PointOf("bitrev", 16, 32, 3), {.seed = 1, .workers = 1, .interrupted = never});
  EXPECT_EQ(figures["messages"], 128 * 16);
  EXPECT_EQ(figures["left"], 0);
  // Three rounds: 3, 3 and 1 column.
  EXPECT_EQ(figures["most_links"], 7);
  EXPECT_EQ(figures["fewest_links"], 7);
  // The 16 messages of a row are for one group of 8: two in a pack.
  EXPECT_GE(figures["pack"], 2);
  EXPECT_GE(figures["most_held"], 16);
  EXPECT_EQ(figures["pack_bits"], figures["pack"] * (32 + 7));
  // 16 packs: h-bar is above 4 * 16 * 16 / 4 = 256.
  EXPECT_EQ(figures["h_bar"], 512);
  EXPECT_EQ(figures["storage"], 1024 * 7 + 4 * 10 + 2);
  EXPECT_EQ(figures.count("stages_over_theorem_2"), 0u);
  EXPECT_THAT(FindStepProgram("h_relation")->check(PointOf("random", 4, 32, 8)).message(),
              HasSubstr("columns: 8 is not in 0..7"));
}

// d = R = 8: an input would need all its neighbours for itself. Splitter 0 is the only one of level
// 0, all of whose 128 inputs send, and W is at first the power of two above h.
TEST(HRelationExperiment, VerdictsNameTheClassThatIsStuck) {
  StepPoint point = PointOf("identity", 16, 16);
  point.values[1].second = 8.0;
  const StepProgram& program = *FindStepProgram("h_relation");
  const std::function<bool()> never = [] { return false; };
  Measurement measurement{.point = point, .trials = {}};
  for (const uint64_t seed : {4, 5}) {
    auto figures = program.run(point, {.seed = seed, .workers = 1, .interrupted = never});
    ASSERT_TRUE(figures.ok()) << figures.status();
    measurement.trials.push_back({.seed = seed, .batch_delays = {}, .figures = *figures});
  }
  EXPECT_GT(measurement.trials[0].figure("left"), 0);
  int named = 0;
  for (const Claim& claim : program.claims()) {
    if (claim.id == "h_relation_deliver") {
      EXPECT_EQ(Examine(claim, measurement).verdict, Verdict::kVacuous);
    }
    if (claim.id != "h_relation_fewest_stages" && claim.id != "h_relation_links") continue;
    ++named;
    const std::string reason = Examine(claim, measurement).reason;
    EXPECT_THAT(reason, HasSubstr("no trial came to its end; with seed 4 "));
    EXPECT_THAT(reason, HasSubstr(" nodes of splitter 0 of level 0 ask for W = 32 in direction "));
  }
  EXPECT_EQ(named, 2);
}

// The verdict on a trial that leaves a message over, waits with rho = 1/2 and takes as many stages
// as Theorem 2 allows with that rho.
Verdict VerdictOnFigures(const std::string& id, const StepPoint& point) {
  Measurement m{.point = point, .trials = {}};
  m.trials.push_back(
      {.seed = 1,
       .batch_delays = {},
       .figures = {{"left", 1}, {"rho", 0.5}, {"stages_over_theorem_2", 1}, {"time", 1}}});
  for (const Claim& claim : FindStepProgram("h_relation")->claims()) {
    if (claim.id == id) return Check(claim, m).verdict;
  }
  ADD_FAILURE() << id;
  return Verdict::kNotApplicable;
}

// With d = 16, Fact 1 and Lemma 1 grant R = 8 neighbours for Z = 1024 and L above 4144, and R = 4
// for Z = 64 and L above 645. The paper has no h-bar for R = 4.
TEST(HRelationExperiment, Lemma2AndTheorem2AreVacuousWithoutTheirPremises) {
  StepPoint granted = PointOf("random", 16, 8192);
  granted.d = 13;
  granted.values[6].second = 1024.0;  // iterations
  StepPoint few_rounds = granted;
  few_rounds.values[7].second = 2.0;
  StepPoint few_neighbours = PointOf("random", 16, 1024);
  few_neighbours.d = 11;
  few_neighbours.values[4].second = 4.0;
  few_neighbours.values[6].second = 64.0;
  for (const char* claim : {"h_relation_deliver", "h_relation_lemma_2"}) {
    EXPECT_EQ(VerdictOnFigures(claim, granted), Verdict::kFail) << claim;
    EXPECT_EQ(VerdictOnFigures(claim, few_rounds), Verdict::kVacuous) << claim;
    EXPECT_EQ(VerdictOnFigures(claim, few_neighbours), Verdict::kVacuous) << claim;
  }
  EXPECT_EQ(VerdictOnFigures("h_relation_theorem_2", granted), Verdict::kInvariant);
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

// Rounds of one column, each of 32 waves of one stage.
TEST(HRelationExperiment, AskedToEndItEndsBetweenWavesOfOneStage) {
  int asked = 0;
  const std::function<bool()> at_the_third = [&] { return ++asked == 3; };
  const auto figures = FindStepProgram("h_relation")
                           ->run(PointOf("bitrev", 4, 32, 1),
                                 {.seed = 1, .workers = 1, .interrupted = at_the_third});
  EXPECT_EQ(figures.status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 3);
}

// 2^14 rows carry 2^28 messages, so h is at most 2^14. A row packs for 2^columns groups and sends
// up to twice as many packs. 2^14 packs of 2^14 rows take more than 2 GiB.
TEST(HRelationExperiment, RefusesBeforeTheFirstTrialColumnsThatMakeTooManyPacks) {
  const StepProgram* program = FindStepProgram("h_relation");
  const auto refusal = [&](double h, double columns) {
    StepPoint point = PointOf("random", h, 32, columns);
    point.d = 14;
    point.values[1].second = 4.0;  // multiplicity
    point.values[4].second = 2.0;  // neighbours
    return std::string(program->check(point).message());
  };
  EXPECT_EQ(refusal(1, 0), "");
  EXPECT_EQ(refusal(1, 7), "");
  EXPECT_THAT(refusal(1, 14), HasSubstr("columns: 14 give a row up to 32768 packs"));
  EXPECT_THAT(refusal(1, 14), HasSubstr("32768 is not in 1..16384"));
  EXPECT_THAT(refusal(1, 13), HasSubstr("columns: 13 give a row up to 16384 packs"));
  EXPECT_THAT(refusal(1, 13), HasSubstr("more than the 2048 MiB allowed"));
}

// A pack of 2^15 messages of 32 bits and 5 bits of address has 1,212,416 bits, more than 2^20.
TEST(HRelationExperiment, RefusesBeforeTheFirstTrialPacksThatAreTooLong) {
  const StepProgram* program = FindStepProgram("h_relation");
  StepPoint point = PointOf("random", 1 << 16, 32, 1);
  point.d = 5;
  EXPECT_THAT(program->check(point).message(),
              HasSubstr("columns: packs of 32768 messages have 1212416 bits"));
  point.values[8].second = 2.0;  // columns
  EXPECT_TRUE(program->check(point).ok()) << program->check(point);
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
