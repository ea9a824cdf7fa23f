// SPDX-License-Identifier: Apache-2.0
// The throughput search: the worked example of RFC 9971, and searches of simulated fabrics whose
// throughput is known.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "control/throughput/frame_mix.h"
#include "control/throughput/mlr_search.h"
#include "topologies/random.h"

namespace bfly::control {
namespace {

constexpr LoadClass kUp = LoadClass::kUpperBound;
constexpr LoadClass kLow = LoadClass::kLowerBound;
constexpr LoadClass kOpen = LoadClass::kUndecided;

// RFC 9971, appendix "Example Search": four goals, and the results at one load at six moments.
class WorkedExample : public testing::Test {
 protected:
  const std::vector<SearchGoal> goals_ = {
      {.name = "RFC2544", .final_duration = 60, .duration_sum = 60},
      {.name = "TST009", .exceed_ratio = 0.5, .final_duration = 60, .duration_sum = 120},
      {.name = "1s final", .loss_ratio = 0.005, .exceed_ratio = 0.5, .duration_sum = 120},
      {.name = "20% exceed",
       .loss_ratio = 0.005,
       .exceed_ratio = 0.2,
       .final_duration = 60,
       .duration_sum = 60}};
  std::vector<TrialResult> trials_;

  void Add(int count, double duration, double loss_ratio) {
    trials_.insert(trials_.end(), static_cast<size_t>(count),
                   {.load = 1e6, .duration = duration, .loss_ratio = loss_ratio});
  }
  std::vector<LoadClass> Classes() const {
    std::vector<LoadClass> classes;
    for (const SearchGoal& goal : goals_) classes.push_back(Classify(goal, trials_));
    return classes;
  }
};

TEST_F(WorkedExample, ClassifiesTheLoadAsTheTablesSay) {
  using Classes = std::vector<LoadClass>;
  EXPECT_EQ(this->Classes(), (Classes{kOpen, kOpen, kOpen, kOpen})) << "without a trial";
  Add(59, 1, 0);
  EXPECT_EQ(this->Classes(), (Classes{kOpen, kOpen, kOpen, kOpen})) << "point 1";
  Add(1, 1, 0.01);
  EXPECT_EQ(this->Classes(), (Classes{kUp, kOpen, kOpen, kOpen})) << "point 2";
  Add(59, 1, 0.01);
  EXPECT_EQ(this->Classes(), (Classes{kUp, kOpen, kOpen, kUp})) << "point 3";
  Add(1, 1, 0);
  EXPECT_EQ(this->Classes(), (Classes{kUp, kOpen, kLow, kUp})) << "point 4";
  // The tables of points 5 and 6 say "Lower Bound" for the fourth goal beside exceed ratios of 42.9
  // and 27.3 %, which are above its 20 %. By the rule and the code of the RFC it is an upper bound.
  Add(1, 60, 0.001);
  EXPECT_EQ(this->Classes(), (Classes{kUp, kOpen, kLow, kUp})) << "point 5";
  Add(1, 60, 0);
  EXPECT_EQ(this->Classes(), (Classes{kUp, kLow, kLow, kUp})) << "point 6";
}

TEST_F(WorkedExample, HasTheConditionalThroughputs) {
  Add(60, 1, 0.01);
  Add(1, 60, 0.001);
  Add(60, 1, 0);
  Add(1, 60, 0);
  EXPECT_DOUBLE_EQ(ConditionalThroughput(goals_[1], trials_), 1e6);
  EXPECT_DOUBLE_EQ(ConditionalThroughput(goals_[2], trials_), 1e6);
  EXPECT_DOUBLE_EQ(ConditionalThroughput(goals_[3], trials_), 999e3);
}

TEST(ConditionalThroughputTest, CountsMissingTimeAsLost) {
  const SearchGoal goal{.final_duration = 1, .duration_sum = 3};
  const std::vector<TrialResult> trials = {{.load = 100, .duration = 1, .loss_ratio = 0}};
  EXPECT_EQ(ConditionalThroughput(goal, trials), 0);
}

// Durations are sums and quotients in double precision: 0.1 + 0.1 + 0.1 is not 0.3.
TEST(ConditionalThroughputTest, TakesSumsOfAnyDurationsForWhatTheyAre) {
  for (const double duration : {0.05, 0.1, 0.15, 0.2, 0.3, 0.7, 1.1, 60.0}) {
    for (int count = 1; count <= 40; ++count) {
      const SearchGoal goal{.name = "NDR",
                            .final_duration = duration,
                            .duration_sum = count * duration,
                            .initial_duration = duration};
      std::vector<TrialResult> trials(static_cast<size_t>(count),
                                      {.load = 100, .duration = duration, .loss_ratio = 0});
      EXPECT_EQ(ConditionalThroughput(goal, trials), 100) << count << " of " << duration;
      EXPECT_EQ(Classify(goal, trials), LoadClass::kLowerBound) << count << " of " << duration;
      trials.pop_back();
      if (trials.empty()) continue;
      EXPECT_EQ(ConditionalThroughput(goal, trials), 0) << count - 1 << " of " << duration;
      EXPECT_EQ(Classify(goal, trials), LoadClass::kUndecided) << count - 1 << " of " << duration;
    }
  }
}

SearchGoal GoalWith(const std::string& name, double loss_ratio) {
  return {.name = name,
          .loss_ratio = loss_ratio,
          .final_duration = 10,
          .duration_sum = 10,
          .initial_duration = 0.1,
          .width = 0.005};
}
const std::vector<SearchGoal>& NdrAndPdr() {
  static const std::vector<SearchGoal> goals = {GoalWith("NDR", 0), GoalWith("PDR", 0.005)};
  return goals;
}

using LossOf = std::function<double(double load, double duration)>;
LossOf LimitedTo(double capacity) {
  return [=](double load, double) { return std::max(0.0, 1 - capacity / load); };
}

// Runs the search and returns the number of trials.
int SearchAll(ThroughputSearch& search, const LossOf& loss) {
  for (int trials = 0; trials < 500; ++trials) {
    const auto next = search.Next();
    if (!next) return trials;
    search.Add({next->load, next->duration, loss(next->load, next->duration)});
  }
  ADD_FAILURE() << "the search does not come to an end";
  return 500;
}

TEST(ThroughputSearchTest, FindsTheCapacityOfAFabricThatDropsWhatIsTooMuch) {
  for (const double capacity : {1'234.5, 70'000.0, 999'999.0, 1.3e6}) {
    ThroughputSearch search(NdrAndPdr(), 100, 1.5e6);
    EXPECT_LT(SearchAll(search, LimitedTo(capacity)), 90) << capacity;
    const GoalResult ndr = search.Result(0), pdr = search.Result(1);
    ASSERT_TRUE(ndr.is_regular() && pdr.is_regular()) << capacity;
    EXPECT_LE(*ndr.lower, capacity);
    EXPECT_GT(*ndr.upper, capacity);
    EXPECT_LE(*ndr.upper - *ndr.lower, 0.005 * *ndr.upper);
    EXPECT_DOUBLE_EQ(ndr.throughput, *ndr.lower);
    // Half a percent may be lost at capacity / 0.995.
    EXPECT_LE(*pdr.lower, capacity / 0.995);
    EXPECT_GE(*pdr.upper, capacity / 0.995);
    EXPECT_LE(*pdr.upper - *pdr.lower, 0.005 * *pdr.upper);
    EXPECT_LE(pdr.throughput, capacity * (1 + 1e-12));
    // A lower bound was seen over the whole duration.
    double longest = 0;
    for (const TrialResult& trial : search.TrialsAt(*ndr.lower))
      longest = std::max(longest, trial.duration);
    EXPECT_GE(longest, 10);
  }
}

TEST(ThroughputSearchTest, FindsLossThatOnlyLongTrialsShow) {
  // Queues hold what is too much for 2 s; above 500,000 they run over sooner or later.
  ThroughputSearch search(NdrAndPdr(), 100, 1e6);
  SearchAll(search, [](double load, double duration) {
    const double too_much = std::max(0.0, load - 500'000) * duration;
    return std::max(0.0, too_much - 1'000) / (load * duration);
  });
  const GoalResult ndr = search.Result(0);
  ASSERT_TRUE(ndr.is_regular());
  EXPECT_LE(*ndr.lower, 500'100) << "10 s of 100 frames too many fill the queue";
  EXPECT_GE(*ndr.upper, 500'100);
}

TEST(ThroughputSearchTest, SaysThatNoBoundWasFound) {
  ThroughputSearch all_pass(NdrAndPdr(), 100, 1'000);
  SearchAll(all_pass, LimitedTo(5'000));
  EXPECT_FALSE(all_pass.Result(0).upper.has_value());
  EXPECT_EQ(all_pass.Result(0).lower, 1'000);
  EXPECT_EQ(all_pass.Result(0).throughput, 1'000);

  ThroughputSearch none_pass(NdrAndPdr(), 100, 1'000);
  SearchAll(none_pass, LimitedTo(50));
  EXPECT_FALSE(none_pass.Result(0).lower.has_value());
  EXPECT_EQ(none_pass.Result(0).upper, 100);
  EXPECT_EQ(none_pass.Result(0).throughput, 0);
}

TEST(ThroughputSearchTest, ComesToAnEndWhereTrialsContradictEachOther) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    uint64_t drawn = 0;
    std::vector<SearchGoal> goals = NdrAndPdr();
    goals[1].exceed_ratio = 0.5;
    goals[1].duration_sum = 30;
    ThroughputSearch search(goals, 100, 1e6);
    SearchAll(search, [&](double load, double) {
      // A hiccup loses 2 % of one trial in ten.
      const bool hiccup = Random64(seed, RandomStream::kTest, drawn++) % 10 == 0;
      return std::max(0.0, 1 - 400'000 / load) + (hiccup ? 0.02 : 0);
    });
    for (size_t goal = 0; goal < 2; ++goal) {
      const GoalResult result = search.Result(goal);
      ASSERT_TRUE(result.upper) << seed;
      if (result.lower) {
        EXPECT_LT(*result.lower, *result.upper) << seed;
        EXPECT_LE(*result.lower, 400'000 / 0.995 * (1 + 1e-9)) << seed;
      }
    }
  }
}

// Runs the search, and returns the number of trials, at most MostTrials.
uint64_t SearchWithinMostTrials(ThroughputSearch& search, const LossOf& loss) {
  const uint64_t most = MostTrials(search.goals());
  for (uint64_t trials = 0; trials < most; ++trials) {
    const auto next = search.Next();
    if (!next) return trials;
    search.Add({next->load, next->duration, loss(next->load, next->duration)});
  }
  ADD_FAILURE() << "not over after " << most << " trials";
  return most;
}

TEST(MostTrialsTest, AreEnoughForALongDurationSum) {
  ThroughputSearch search(
      {{.name = "NDR", .final_duration = 0.1, .duration_sum = 31, .initial_duration = 0.1}}, 100,
      1'000);
  // The only load takes 31 s of trials of 0.1 s.
  EXPECT_EQ(SearchWithinMostTrials(search, LimitedTo(5'000)), 310u);
  EXPECT_EQ(search.Result(0).lower, 1'000);
}

TEST(MostTrialsTest, AreEnoughForThe120TrialsOfAGoalOfTheRfc) {
  SearchGoal half{.name = "1s final", .exceed_ratio = 0.5, .duration_sum = 120};
  SearchGoal some = half;
  some.loss_ratio = 0.005;
  ThroughputSearch search({half, some}, 100, 1.5e6);
  // Any bound needs 60 trials at least, and each goal has two bounds of its own besides the largest
  // load.
  EXPECT_GE(SearchWithinMostTrials(search, LimitedTo(70'123.4)), 5 * 60u);
  EXPECT_TRUE(search.Result(0).is_regular());
  EXPECT_TRUE(search.Result(1).is_regular());
}

TEST(ThroughputSearchTest, AnUpperBoundBelowALowerBoundCounts) {
  ThroughputSearch search(NdrAndPdr(), 100, 1'000);
  search.Add({.load = 800, .duration = 10, .loss_ratio = 0});
  search.Add({.load = 500, .duration = 10, .loss_ratio = 0.1});
  search.Add({.load = 300, .duration = 10, .loss_ratio = 0});
  EXPECT_EQ(search.Result(0).upper, 500);
  EXPECT_EQ(search.Result(0).lower, 300);
}

TEST(ThroughputSearchTest, NamesWhatIsWrongWithAGoal) {
  const auto message = [](SearchGoal goal, double least = 1, double most = 2) {
    goal.name = "NDR";
    return std::string(ThroughputSearch::Check({goal}, least, most).message());
  };
  EXPECT_EQ(message({.loss_ratio = 1}),
            "goal NDR: the loss ratio is 1; it is at least 0 and less than 1");
  EXPECT_EQ(message({.loss_ratio = std::nan("")}),
            "goal NDR: the loss ratio is nan; it is at least 0 and less than 1");
  EXPECT_EQ(message({.exceed_ratio = -1}),
            "goal NDR: the exceed ratio is -1; it is at least 0 and less than 1");
  EXPECT_EQ(
      message({.final_duration = 0.5, .initial_duration = 1}),
      "goal NDR: the final trial duration is 0.5; it is not below the initial trial duration");
  EXPECT_EQ(message({.width = 0}), "goal NDR: the width is 0; it is more than 0 and less than 1");
  EXPECT_EQ(message({}, 0), "the smallest load is 0 frames a second; it is more than 0");
  EXPECT_EQ(message({}, 3, 2),
            "the largest load is 2 frames a second and the smallest 3; the largest is not below "
            "the smallest");
  EXPECT_TRUE(ThroughputSearch::Check(NdrAndPdr(), 1, 1).ok());
}

TEST(FrameMixTest, ATrialWaitsForItsFramesAtALoadOfLessThanOneFrame) {
  const FrameMix one = *FrameMixFromName("64");
  EXPECT_EQ(FramesOfTrial(one.frames[0], 1000, 0.2), 200u);
  EXPECT_DOUBLE_EQ(SecondsToSend(one, 1000, 0.2), 0.2);
  // One frame a second: the only frame of a trial of 0.1 s may come after a whole second.
  EXPECT_EQ(FramesOfTrial(one.frames[0], 1, 0.1), 1u);
  EXPECT_DOUBLE_EQ(SecondsToSend(one, 1, 0.1), 1);
  // Of twelve frames a second of imix one has 1,514 bytes.
  EXPECT_NEAR(SecondsToSend(*FrameMixFromName("imix"), 12, 0.1), 1, 1e-9);
}

TEST(FramesInTime, AreExactUnlessOnlyALaterLookKnowsThem) {
  EXPECT_EQ(FramesInTime({}, {0.9, 1000}, 1), 1000u) << "finished in time, whenever one looks";
  EXPECT_EQ(FramesInTime({0.5, 500}, {1, 1000}, 1), 1000u);
  EXPECT_EQ(FramesInTime({}, {4, 1000}, 1), 250u);
  // It got no CPU from 0.2 s on, and sent the rest at once when it got one.
  EXPECT_EQ(FramesInTime({1.0, 200}, {1.5, 1000}, 1.01), 200u + 16);
}

TEST(FrameMixTest, HasSizesAndShares) {
  EXPECT_EQ(FrameMixFromName("1518")->frames[0].bytes, 1518u);
  const FrameMix imix = *FrameMixFromName("imix");
  double shares = 0;
  for (const FrameShare& frame : imix.frames) shares += frame.share;
  EXPECT_DOUBLE_EQ(shares, 1);
  EXPECT_NEAR(imix.mean_bytes(), (7 * 64 + 4 * 590 + 1514) / 12.0, 1e-9);
  for (const char* wrong : {"63", "9019", "", "64x", "IMIX", "-64"}) {
    EXPECT_EQ(FrameMixFromName(wrong).status().code(), absl::StatusCode::kInvalidArgument) << wrong;
  }
}

}  // namespace
}  // namespace bfly::control
