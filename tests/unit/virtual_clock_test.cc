// SPDX-License-Identifier: Apache-2.0
// The virtual clock against closed forms (THEORY.md 1.4-1.6) and against a plain event-driven
// simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <queue>

#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/network.h"

namespace bfly::dataplane {
namespace {

Network MakeNetwork(NetworkKind kind, uint32_t rows) {
  return *Network::Make({.kind = kind, .rows = rows});
}

VirtualConfig Config(double rate, double duration, uint64_t seed = 1) {
  VirtualConfig config;
  config.arrivals.rate = rate;
  config.arrivals.seed = seed;
  config.warmup = duration / 10;
  config.duration = duration;
  return config;
}

VirtualResult RunOn(const Network& network, const VirtualConfig& config) {
  auto result = RunVirtual(network, config);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->injected, result->delivered + result->in_flight);
  return *std::move(result);
}

// Half-width of the 95 % interval of the mean delay, from batch means.
double HalfWidth(const VirtualResult& r) {
  double mean = 0, squares = 0;
  const double n = static_cast<double>(r.batches.size());
  for (const DelayBatch& b : r.batches) mean += b.delay_sum / static_cast<double>(b.packets) / n;
  for (const DelayBatch& b : r.batches) {
    squares += std::pow(b.delay_sum / static_cast<double>(b.packets) - mean, 2);
  }
  return 2.1 * std::sqrt(squares / (n - 1) / n);
}

TEST(VirtualClock, OneDimensionalCubeIsAnMD1QueueForHalfItsPackets) {
  // T = p (1 + rho / (2 (1 - rho))), rho = lambda p; equality in Proposition 13 for d = 1.
  const Network cube = MakeNetwork(NetworkKind::kHypercube, 2);
  for (const auto& [rho, exact] : std::map<double, double>{{.3, .60714}, {.5, .75}, {.8, 1.5}}) {
    const VirtualResult r = RunOn(cube, Config(2 * rho, 400000));
    EXPECT_NEAR(r.mean_delay, exact, 3 * HalfWidth(r) + 1e-4) << rho;
  }
}

TEST(VirtualClock, CubeWhereEveryBitFlipsQueuesAtTheFirstLinkOnly) {
  // T = d + rho / (2 (1 - rho)) for p = 1; d = 6, lambda = .8: 8.0.
  VirtualConfig config = Config(.8, 20000);
  config.flip = 1;
  const VirtualResult r = RunOn(MakeNetwork(NetworkKind::kHypercube, 64), config);
  EXPECT_NEAR(r.mean_delay, 8.0, 3 * HalfWidth(r) + 1e-3);
}

TEST(VirtualClock, SlottedTwoDimensionalCubeHasTheDelaysOfItsMarkovChain) {
  // THEORY.md 1.6, table of the 2-dimensional chain: {rho, p} -> T.
  const Network cube = MakeNetwork(NetworkKind::kHypercube, 4);
  const std::map<std::pair<double, double>, double> exact = {
      {{.3, .25}, 0.604417}, {{.3, .50}, 1.191308}, {{.3, .75}, 1.738659},
      {{.5, .25}, 0.744382}, {{.5, .50}, 1.451802}, {{.5, .75}, 2.070916},
      {{.8, .25}, 1.481277}, {{.8, .50}, 2.837855}, {{.8, .75}, 3.881645}};
  for (const auto& [point, delay] : exact) {
    VirtualConfig config = Config(point.first / point.second, 100000);
    config.flip = point.second;
    config.arrivals.process = ArrivalConfig::Process::kSlotBatch;
    config.slots_per_unit = 1;
    const VirtualResult r = RunOn(cube, config);
    EXPECT_NEAR(r.mean_delay, delay, 3 * HalfWidth(r) + 1e-4) << point.first << " " << point.second;
  }
}

TEST(VirtualClock, ButterflyLinksCarryLambdaTimesTheirShare) {
  // Proposition 15: straight links lambda (1 - p), cross links lambda p; LSB or MSB first, by
  // symmetry.
  const Network butterfly = MakeNetwork(NetworkKind::kButterfly, 16);
  VirtualConfig config = Config(.8, 20000);
  config.flip = .25;
  const VirtualResult r = RunOn(butterfly, config);
  for (int stage = 0; stage < butterfly.stages(); ++stage) {
    double cross = 0, straight = 0;
    for (Row row = 0; row < 16; ++row) {
      for (int port = 0; port < 2; ++port) {
        const double packets =
            static_cast<double>(r.link_packets[butterfly.link_index({stage, row, port})]);
        (butterfly.next_row(stage, row, port) == row ? straight : cross) +=
            packets / r.end_time / 16;
      }
    }
    EXPECT_NEAR(cross, .2, .004) << stage;
    EXPECT_NEAR(straight, .6, .006) << stage;
  }
}

TEST(VirtualClock, ResultIsTheSameBitForBitForAnyWorkersAndWindows) {
  for (const NetworkKind kind :
       {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly, NetworkKind::kHypercube}) {
    const Network network = MakeNetwork(kind, 256);
    VirtualConfig config = Config(1.5, 300);
    config.window = 10;
    const VirtualResult one = RunOn(network, config);
    for (const std::vector<int>& first_stages :
         {std::vector<int>{0, 4}, std::vector<int>{0, 1, 7}, std::vector<int>{0, 1, 2, 3, 4, 5}}) {
      config.first_stages = first_stages;
      const VirtualResult many = RunOn(network, config);
      EXPECT_EQ(one.link_packets, many.link_packets);
      EXPECT_EQ(one.delivered, many.delivered);
      EXPECT_EQ(one.mean_delay, many.mean_delay);
      EXPECT_EQ(one.p99, many.p99);
      EXPECT_EQ(one.mean_population, many.mean_population);
      EXPECT_EQ(one.stage_delay, many.stage_delay);
    }
    config.first_stages = {0};
    config.window = 3.25;
    const VirtualResult other_windows = RunOn(network, config);
    EXPECT_EQ(one.mean_delay, other_windows.mean_delay);
    EXPECT_EQ(one.measured, other_windows.measured);
    EXPECT_EQ(one.max, other_windows.max);
  }
}

TEST(VirtualClock, PopulationObeysLittlesLaw) {
  const Network butterfly = MakeNetwork(NetworkKind::kButterfly, 64);
  VirtualConfig config = Config(1.0, 20000);
  config.window = 4;
  const VirtualResult r = RunOn(butterfly, config);
  EXPECT_NEAR(r.mean_population / (64 * r.offered * r.mean_delay), 1, .01);
}

TEST(VirtualClock, OverloadDeliversWhatTheLinksCarryAndSaysWhatWasLeft) {
  // With p = 1 paths are disjoint and carry one packet a unit. Four offered need four times the
  // time, and the run is given twice.
  VirtualConfig config = Config(4, 1000);
  config.flip = 1;
  const VirtualResult r = RunOn(MakeNetwork(NetworkKind::kButterfly, 16), config);
  EXPECT_NEAR(r.accepted, 1, .005);
  EXPECT_NEAR(r.offered, 4, .1);
  EXPECT_GT(r.unfinished, r.measured / 2);
}

TEST(VirtualClock, RefusesWhatCannotBeRunAndNamesTheField) {
  const Network wrapped = MakeNetwork(NetworkKind::kWrappedButterfly, 8);
  const Network plain = MakeNetwork(NetworkKind::kButterfly, 8);
  const auto message = [](const Network& n, const VirtualConfig& c) {
    return std::string(RunVirtual(n, c).status().message());
  };
  EXPECT_THAT(message(wrapped, Config(.5, 10)), testing::HasSubstr("not levelled"));
  EXPECT_THAT(message(plain, Config(0, 10)), testing::HasSubstr("rate: 0"));
  EXPECT_THAT(message(plain, Config(NAN, 10)), testing::HasSubstr("rate: nan"));
  EXPECT_THAT(message(plain, Config(.5, 0)), testing::HasSubstr("duration: 0"));
  VirtualConfig flip = Config(.5, 10);
  flip.flip = 1.5;
  EXPECT_THAT(message(plain, flip), testing::HasSubstr("flip: 1.5 is not a probability"));
  VirtualConfig stages = Config(.5, 10);
  stages.first_stages = {0, 3};
  EXPECT_THAT(message(plain, stages), testing::HasSubstr("first_stages"));
}

}  // namespace
}  // namespace bfly::dataplane
