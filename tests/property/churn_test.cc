// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/churn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

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
  ChurnTarget target() {
    return {.set_up = [this](Row input, Row output) -> absl::StatusOr<std::vector<Row>> {
              const auto path = circuits.SetUp(*chooser, input, output);
              if (!path.ok()) return path.status();
              return WalkTag(network, input, path->tag);
            },
            .release = [this](Row input) { return circuits.Release(input).status(); }};
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
};

TEST(Churn, CongestionIsARecountAfterEveryStep) {
  Plant plant(64);
  double now = 0;
  const auto report = RunChurn(
      64, 12, {.rate = 500, .holding = 0.1, .duration = 4, .seed = 5}, plant.target(),
      [&](double at) {
        EXPECT_GE(at, now);
        now = at;
        return true;
      },
      [&](const ChurnReport& then) {
        ASSERT_EQ(then.congestion, plant.Recount());
        ASSERT_EQ(then.standing, plant.circuits.size());
      });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->seconds, 4);
  EXPECT_NEAR(std::accumulate(report->seconds_with.begin(), report->seconds_with.end(), 0.0), 4,
              1e-9);
  EXPECT_EQ(report->requests, report->set_up + report->no_free_row + report->refused);
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
  const auto report = RunChurn(
      4, 4, {.rate = 2, .adversary = *steps}, plant.target(),
      [&](double at) {
        times.push_back(at);
        return true;
      },
      [](const ChurnReport&) {});
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
  EXPECT_EQ(error("setup 1 4"), "f:1: \"4\" is no row, 0..3");
  EXPECT_EQ(error("setup 1 2\nsetup 1 3"), "f:2: input 1 has a circuit to 2 then");
  EXPECT_EQ(error("setup 1 2\nsetup 0 2"), "f:2: output 2 has a circuit then");
  EXPECT_EQ(error("release 3"), "f:1: input 3 has no circuit then");
  Plant plant(4);
  const auto status =
      RunChurn(
          4, 4, {.rate = 0}, plant.target(), [](double) { return true; }, [](const ChurnReport&) {})
          .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("rate: 0"));
}

TEST(Churn, RefusalsAreCountedAndItGoesOn) {
  int asked = 0;
  const ChurnTarget target{
      .set_up = [&](Row, Row) -> absl::StatusOr<std::vector<Row>> {
        ++asked;
        return absl::ResourceExhaustedError("full");
      },
      .release = [](Row) { return absl::InternalError("nothing was set up"); }};
  const auto report = RunChurn(
      4, 4, {.rate = 100, .duration = 1}, target, [](double) { return true; },
      [](const ChurnReport&) {});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->refused, report->requests);
  EXPECT_EQ(report->refused, static_cast<uint64_t>(asked));
  EXPECT_GT(asked, 0);
}

}  // namespace
}  // namespace bfly::control
