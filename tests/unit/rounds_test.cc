// SPDX-License-Identifier: Apache-2.0
// The pipelined scheme of Valiant and Brebner in rounds, and Bernoulli arrivals.
#include "dataplane/virtual_clock/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::dataplane {
namespace {

Network NetworkOf(NetworkKind kind, uint32_t rows) {
  return *Network::Make({.kind = kind, .rows = rows});
}

VirtualConfig RoundsConfig(double rate, double duration) {
  VirtualConfig config;
  config.arrivals.rate = rate;
  config.arrivals.seed = 1;
  config.warmup = duration / 10;
  config.duration = duration;
  return config;
}

RoundsResult RunRoundsOn(const Network& network, const VirtualConfig& config) {
  auto result = RunRounds(network, config, 4000);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->run.injected, result->run.delivered + result->run.in_flight);
  return *result;
}

TEST(Rounds, OneDimensionTakesAUnitUnlessBothStay) {
  // Two nodes, fair coins: a full round takes 0 with probability 1/4, else 1.
  EXPECT_NEAR(RunRoundsOn(NetworkOf(NetworkKind::kHypercube, 2), RoundsConfig(.5, 100)).full_round,
              .75, .03);
}

TEST(Rounds, AllBitsFlippedTakeDUnitsExactly) {
  VirtualConfig config = RoundsConfig(.1, 100);
  config.flip = 1;
  EXPECT_DOUBLE_EQ(RunRoundsOn(NetworkOf(NetworkKind::kHypercube, 32), config).full_round, 5);
}

TEST(Rounds, AloneAPacketTravelsAtOnce) {
  // So few packets that rounds hold one: the delay is the mean distance d p = 3 and nobody waits
  // but for those already on their way.
  const RoundsResult r =
      RunRoundsOn(NetworkOf(NetworkKind::kHypercube, 64), RoundsConfig(1e-5, 1e7));
  EXPECT_NEAR(r.run.mean_delay, 3, .1);
  EXPECT_EQ(r.run.unfinished, 0u);
}

TEST(Rounds, CarryOnePacketARoundAndNoMore) {
  // Far above capacity every node sends in every round: accepted = 1 / E[round].
  const Network cube = NetworkOf(NetworkKind::kHypercube, 16);
  const RoundsResult over = RunRoundsOn(cube, RoundsConfig(1, 4000));
  EXPECT_NEAR(over.run.accepted * over.full_round, 1, .01);
  EXPECT_GT(over.run.unfinished, 0u);
  EXPECT_NEAR(over.mean_round, over.full_round, .05);
  const RoundsResult under = RunRoundsOn(cube, RoundsConfig(.9 / over.full_round, 4000));
  EXPECT_EQ(under.run.unfinished, 0u);
  EXPECT_NEAR(under.run.accepted, under.run.offered, .01);
}

TEST(Rounds, RefusesWhatCannotBeRun) {
  const auto message = [](const absl::StatusOr<RoundsResult>& r) {
    return std::string(r.status().message());
  };
  const Network cube = NetworkOf(NetworkKind::kHypercube, 4);
  EXPECT_THAT(message(RunRounds(cube, RoundsConfig(0, 10), 1)), testing::HasSubstr("rate: 0"));
  EXPECT_THAT(message(RunRounds(cube, RoundsConfig(1, 10), 0)),
              testing::HasSubstr("full_rounds: 0"));
  EXPECT_THAT(
      message(RunRounds(NetworkOf(NetworkKind::kWrappedButterfly, 4), RoundsConfig(1, 10), 1)),
      testing::HasSubstr("not levelled"));
}

VirtualConfig Bernoulli(double rate, double duration) {
  VirtualConfig config = RoundsConfig(rate, duration);
  config.arrivals.process = ArrivalConfig::Process::kSlotBatch;
  config.slots_per_unit = 1;
  config.one_a_slot = true;
  return config;
}

TEST(Bernoulli, OffersItsRateAndNeverTwoInASlot) {
  // On a disjoint pattern with at most one packet a slot nobody ever waits: the delay is d.
  const Network butterfly = NetworkOf(NetworkKind::kButterfly, 16);
  for (const double rate : {.25, .75, 1.}) {
    VirtualConfig config = Bernoulli(rate, 5000);
    config.flip = 1;
    const auto r = RunVirtual(butterfly, config);
    ASSERT_TRUE(r.ok()) << r.status();
    EXPECT_NEAR(r->offered, rate, .01);
    EXPECT_EQ(r->max, 4);
    EXPECT_EQ(r->mean_delay, 4);
  }
}

TEST(Bernoulli, SwitchOutputsWaitAsKruskalAndSnirSay) {
  // First stage of 2x2 switches with shared outputs and uniform traffic: the mean wait is
  // (1 - 1/2) r / (2 (1 - r)) (Kruskal & Snir 1983, section 3).
  VirtualConfig config = Bernoulli(.8, 20000);
  config.links = LinkModel::kSwitchOutput;
  config.stage_percentiles = true;
  const auto r = RunVirtual(NetworkOf(NetworkKind::kButterfly, 16), config);
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_NEAR(r->stages[0].mean, 1 + .8 / (4 * .2), .02);
}

TEST(Bernoulli, RefusesMoreThanOneASlot) {
  const auto r = RunVirtual(NetworkOf(NetworkKind::kButterfly, 4), Bernoulli(1.5, 10));
  EXPECT_THAT(std::string(r.status().message()), testing::HasSubstr("rate: 1.5 with one packet"));
}

}  // namespace
}  // namespace bfly::dataplane
