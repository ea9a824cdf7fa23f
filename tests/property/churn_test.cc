// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/churn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "control/protocols/circuit_set.h"
#include "tests/property/paper.h"

namespace bfly::control {
namespace {

using ::testing::HasSubstr;

struct Plant {
  explicit Plant(uint32_t rows)
      : network(Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = rows, .seed = 3})
                    .value()),
        circuits(network),
        chooser(MakeChooser("minimum", network).value()) {}
  ChurnAnswer Execute(const ChurnStep& step) {
    if (!step.set_up) {
      const auto released = circuits.Release(step.input);
      return released.ok() ? ChurnAnswer(ChurnPath()) : released.status();
    }
    const auto path = circuits.SetUp(*chooser, step.input, step.output);
    if (!path.ok()) return path.status();
    const std::vector<int> ports = PortsOfTag(network, path->tag);
    return ChurnPath(WalkTag(network, step.input, path->tag), {ports.begin(), ports.end()});
  }
  // Wakes up every `pace` seconds; 0: whenever a step is due.
  ChurnTarget target(double pace = 0) {
    return {.execute =
                [this](const std::vector<ChurnStep>& some) {
                  EXPECT_LE(some.size(), kMaxChurnSteps);
                  std::vector<ChurnAnswer> answers;
                  for (const ChurnStep& step : some) {
                    steps.push_back(step);
                    answers.push_back(Execute(step));
                  }
                  most_together = std::max(most_together, some.size());
                  return answers;
                },
            .wait =
                [pace](double at, const ChurnReport&) {
                  return pace == 0 ? at : std::ceil(at / pace) * pace;
                }};
  }
  uint32_t Recount() const {
    paper::EdgeLoad load;
    for (const CircuitPath& path : circuits.circuits()) {
      paper::Count(load, WalkTag(network, path.input, path.tag));
    }
    uint32_t most = 0;
    for (const auto& [edge, n] : load) most = std::max<uint32_t>(most, n);
    return most;
  }

  Network network;
  CircuitSet circuits;
  std::unique_ptr<PathChooser> chooser;
  std::vector<ChurnStep> steps;  // all that were carried out
  size_t most_together = 0;
};

TEST(Churn, CongestionIsARecountAfterEveryStep) {
  Plant plant(64);
  double now = 0;
  ChurnTarget target = plant.target();
  target.wait = [&](double at, const ChurnReport& then) {
    EXPECT_GE(at, now);
    EXPECT_EQ(then.congestion, plant.Recount());
    EXPECT_EQ(then.standing, plant.circuits.size());
    return std::optional(now = at);
  };
  const auto report =
      RunChurn(64, 12, {.rate = 500, .holding = 0.1, .duration = 4, .seed = 5}, target);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->seconds, 4);
  EXPECT_NEAR(std::accumulate(report->seconds_with.begin(), report->seconds_with.end(), 0.0), 4,
              1e-9);
  EXPECT_EQ(report->requests, report->set_up + report->no_free_row);
  EXPECT_EQ(report->set_up, report->released + report->standing);
  // Poisson with mean 2000, and M/M/64/64 with 50 circuits offered: both within five deviations.
  EXPECT_NEAR(static_cast<double>(report->requests), 2000, 5 * 45);
  EXPECT_GT(report->standing, 15u);
  EXPECT_LE(report->congestion, 12u);  // 4 ceil(log log 64), Cole et al. section 2.2
}

TEST(Churn, AnAdversarysStepsAreDoneInOrder) {
  Plant plant(4);
  const auto steps =
      ParseChurn("# two\nsetup 0 3\nsetup 1 2  # and\n\nrelease 0\nsetup 2 3\n", 4, "f");
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 4u);
  std::vector<double> times;
  ChurnTarget target = plant.target();
  target.wait = [&](double at, const ChurnReport&) {
    times.push_back(at);
    return std::optional(at);
  };
  const auto report = RunChurn(4, 4, {.rate = 2, .adversary = *steps}, target);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(times, (std::vector<double>{0, 0.5, 1, 1.5}));
  EXPECT_EQ(report->set_up, 3u);
  EXPECT_EQ(report->released, 1u);
  EXPECT_EQ(plant.circuits.size(), 2u);
  EXPECT_EQ(plant.circuits.AtOutput(3)->input, 2u);
}

TEST(Churn, RefusesWhatIsWrongNamingTheLine) {
  const auto error = [](absl::string_view text) {
    return std::string(ParseChurn(text, 4, "f").status().message());
  };
  EXPECT_EQ(error(""), "f: has no steps");
  EXPECT_EQ(error("\nsetup 1"), "f:2: is neither \"setup INPUT OUTPUT\" nor \"release INPUT\"");
  EXPECT_EQ(error("setup 1 4"), "f:1: \"4\" is not a row, 0..3");
  EXPECT_EQ(error("setup 1 2\nsetup 1 3"), "f:2: input 1 has a circuit to 2 then");
  EXPECT_EQ(error("setup 1 2\nsetup 0 2"), "f:2: output 2 has a circuit then");
  EXPECT_EQ(error("release 3"), "f:1: input 3 has no circuit then");
  Plant plant(4);
  const auto status = RunChurn(4, 4, {.rate = 0}, plant.target()).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("rate: 0"));
  // So many steps would never end.
  for (const double rate : {1.1e9, 1e17, 1e300}) {
    EXPECT_EQ(RunChurn(4, 4, {.rate = rate}, plant.target()).status().code(),
              absl::StatusCode::kInvalidArgument)
        << rate;
  }
}

TEST(Churn, WhatIsDueTogetherIsTheSameStepsInTheSameOrder) {
  const ChurnOptions options{.rate = 5000, .holding = 0.005, .duration = 2, .seed = 9};
  Plant one_by_one(64), together(64);
  const auto slow = RunChurn(64, 12, options, one_by_one.target());
  const auto fast = RunChurn(64, 12, options, together.target(0.1));
  ASSERT_TRUE(slow.ok() && fast.ok());
  EXPECT_EQ(one_by_one.most_together, 1u);
  // About sqrt(2 * 5000 * 0.005) set-ups come before the first of them is to go, and as many
  // releases of older ones.
  EXPECT_GT(together.most_together, 10u);
  ASSERT_EQ(one_by_one.steps.size(), together.steps.size());
  for (size_t i = 0; i < together.steps.size(); ++i) {
    const ChurnStep &one = one_by_one.steps[i], &other = together.steps[i];
    ASSERT_EQ(std::tie(one.set_up, one.input), std::tie(other.set_up, other.input)) << i;
    if (one.set_up) {
      ASSERT_EQ(one.output, other.output) << i;
    }
  }
  ASSERT_EQ(slow->seconds_with.size(), fast->seconds_with.size());
  for (size_t k = 0; k < slow->seconds_with.size(); ++k) {
    EXPECT_NEAR(slow->seconds_with[k], fast->seconds_with[k], 1e-9) << k;
  }
  EXPECT_EQ(slow->behind_most, 0);
  EXPECT_NEAR(fast->behind_most, 0.1, 0.005);
}

TEST(Churn, AReleaseWaitsForTheAnswerToItsSetUp) {
  Plant plant(4);
  const auto steps =
      ParseChurn("setup 0 3\nsetup 1 2\nrelease 0\nsetup 2 3\nrelease 1\nrelease 2", 4, "f");
  std::vector<size_t> together;
  ChurnTarget target = plant.target(10);
  target.execute = [&, execute = target.execute](const std::vector<ChurnStep>& some) {
    together.push_back(some.size());
    return execute(some);
  };
  const auto report = RunChurn(4, 4, {.rate = 1, .adversary = *steps}, target);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(together, (std::vector<size_t>{1, 3, 2}));
  EXPECT_EQ(report->released, 3u);
  EXPECT_EQ(plant.circuits.size(), 0u);
}

TEST(Churn, RowsOfOthersAreNeverChosen) {
  Plant plant(16);
  const std::vector<Row> inputs = {0, 1, 2, 3, 4, 5, 6, 7},
                         outputs = {0, 2, 4, 6, 8, 10, 12, 14, 14};
  const auto report = RunChurn(16, 8,
                               {.rate = 1000,
                                .holding = 0.01,
                                .duration = 2,
                                .inputs_taken = inputs,
                                .outputs_taken = outputs},
                               plant.target());
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->set_up, 100u);
  for (const ChurnStep& step : plant.steps) {
    EXPECT_GE(step.input, 8u);
    if (step.set_up) {
      EXPECT_EQ(step.output % 2, 1u);
    }
  }
}

TEST(Churn, RefusalsAreCountedAndItGoesOn) {
  int asked = 0;
  Plant plant(4);
  ChurnTarget target = plant.target();
  target.execute = [&](const std::vector<ChurnStep>& some) {
    std::vector<ChurnAnswer> answers;
    for (const ChurnStep& step : some) {
      EXPECT_TRUE(step.set_up);
      answers.push_back(asked++ % 3 == 0 ? absl::FailedPreconditionError("busy")
                                         : absl::ResourceExhaustedError("full"));
    }
    return answers;
  };
  const auto report = RunChurn(4, 4, {.rate = 100, .duration = 1}, target);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(asked, 3);
  EXPECT_EQ(report->requests, static_cast<uint64_t>(asked));
  EXPECT_EQ(report->busy, static_cast<uint64_t>((asked + 2) / 3));
  EXPECT_EQ(report->blocked, report->requests - report->busy);
  EXPECT_EQ(report->first_refusal, "busy");
}

// Every second request meets a link that is down. Its rows are free again: more requests come than
// there are rows.
TEST(Churn, RequestsWithoutAWholePathAreCountedAndItGoesOn) {
  Plant plant(16);
  ChurnTarget target = plant.target();
  uint64_t asked = 0;
  target.execute = [&](const std::vector<ChurnStep>& some) {
    std::vector<ChurnAnswer> answers;
    for (const ChurnStep& step : some) {
      const bool down = step.set_up && asked++ % 2 == 0;
      answers.push_back(down ? absl::UnavailableError("link: s1 r2 p0 is down")
                             : plant.Execute(step));
    }
    return answers;
  };
  const auto report =
      RunChurn(16, 8, {.rate = 100, .holding = 0.01, .duration = 1, .seed = 2}, target);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(asked, 50u);
  EXPECT_EQ(report->unreachable, (asked + 1) / 2);
  EXPECT_EQ(report->set_up, asked / 2);
  EXPECT_EQ(report->blocked + report->busy, 0u);
  EXPECT_EQ(report->requests, asked);
  EXPECT_EQ(report->first_refusal, "link: s1 r2 p0 is down");
}

TEST(Churn, WhatOthersReleasedIsGoneAndAnotherErrorEndsIt) {
  Plant plant(16);
  ChurnTarget target = plant.target();
  absl::Status answer = absl::NotFoundError("no such circuit");
  target.execute = [&](const std::vector<ChurnStep>& some) {
    std::vector<ChurnAnswer> answers;
    for (const ChurnStep& step : some) {
      answers.push_back(plant.Execute(step));
      if (!step.set_up) answers.back() = answer;
    }
    return answers;
  };
  const ChurnOptions options{.rate = 100, .holding = 0.01, .duration = 1};
  const auto report = RunChurn(16, 8, options, target);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->gone, 0u);
  EXPECT_EQ(report->gone, report->released);
  plant.circuits.Clear();
  answer = absl::UnavailableError("away");
  EXPECT_EQ(RunChurn(16, 8, options, target).status(), answer);
}

// Both circuits keep row 0 in dimension 2: 0 -> 0, and 1 -> 0 -> 0 -> 4.
TEST(Churn, CountsNoLinkOfAHypercubeWhereAPathKeepsItsRow) {
  const auto steps = ParseChurn("setup 0 0\nsetup 1 4\n", 8, "f").value();
  const ChurnTarget target{.execute =
                               [](const std::vector<ChurnStep>& some) {
                                 std::vector<ChurnAnswer> answers;
                                 for (const ChurnStep& step : some) {
                                   answers.push_back(step.input == 0
                                                         ? ChurnPath({0, 0, 0, 0}, {0, 0, 0})
                                                         : ChurnPath({1, 0, 0, 4}, {0, 0, 1}));
                                 }
                                 return answers;
                               },
                           .wait = [](double at, const ChurnReport&) { return at; }};
  const auto on_cube =
      RunChurn(8, 3, {.rate = 1, .straight_is_free = true, .adversary = steps}, target).value();
  EXPECT_EQ(on_cube.congestion, 1u);
  const auto on_butterfly = RunChurn(8, 3, {.rate = 1, .adversary = steps}, target).value();
  EXPECT_EQ(on_butterfly.congestion, 2u);
}

// On a multibutterfly rows do not tell parallel links apart, ports do.
TEST(Churn, CountsParallelLinksApart) {
  for (const char* protocol : {"minimum", "greedy", "disjoint"}) {
    const Network network =
        Network::Make(
            {.kind = NetworkKind::kMultibutterfly, .rows = 32, .seed = 4, .multiplicity = 2})
            .value();
    CircuitSet circuits(network);
    const auto chooser = MakeChooser(protocol, network).value();
    uint32_t most = 0;
    const auto execute = [&](const ChurnStep& step) -> ChurnAnswer {
      if (!step.set_up) {
        const auto released = circuits.Release(step.input);
        return released.ok() ? ChurnAnswer(ChurnPath()) : released.status();
      }
      const auto path = circuits.SetUp(*chooser, step.input, step.output);
      if (!path.ok()) return path.status();
      const std::vector<int> ports = PortsOfTag(network, path->tag);
      // By hand: every link of every standing circuit, by stage, row and port.
      std::map<std::array<int, 3>, uint32_t> load;
      for (const CircuitPath& stands : circuits.circuits()) {
        Row row = stands.input;
        for (int stage = 0; stage < network.stages(); ++stage) {
          const int port = PortsOfTag(network, stands.tag)[static_cast<size_t>(stage)];
          most = std::max(most, ++load[{stage, static_cast<int>(row), port}]);
          row = network.next_row(stage, row, port);
        }
      }
      return ChurnPath(WalkTag(network, step.input, path->tag), {ports.begin(), ports.end()});
    };
    const ChurnTarget target{.execute =
                                 [&](const std::vector<ChurnStep>& steps) {
                                   std::vector<ChurnAnswer> answers;
                                   for (const ChurnStep& step : steps) {
                                     answers.push_back(execute(step));
                                   }
                                   return answers;
                                 },
                             .wait = [](double at, const ChurnReport&) { return at; }};
    const auto report = RunChurn(
        32, 5, {.rate = 1000, .holding = 0.03, .duration = 1, .seed = 6, .ports = 4}, target);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_GT(report->set_up, 500u);
    EXPECT_EQ(report->seconds_with.size(), most + size_t{1});
    EXPECT_EQ(report->congestion, circuits.load().Congestion());
    if (std::string(protocol) == "disjoint") {
      EXPECT_EQ(most, 1u);
    } else {
      EXPECT_EQ(report->blocked, 0u);
    }
    if (std::string(protocol) == "greedy") {
      EXPECT_GT(most, 1u);
    }
  }
}

}  // namespace
}  // namespace bfly::control
