// SPDX-License-Identifier: Apache-2.0
// The virtual clock against closed forms (THEORY.md 1.4-1.6) and against a plain event-driven
// simulation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

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
            packets / config.duration / 16;
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
    for (const int workers : {2, 3}) {
      config.workers = workers;
      const VirtualResult shared = RunOn(network, config);
      EXPECT_EQ(one.link_packets, shared.link_packets);
      EXPECT_EQ(one.mean_delay, shared.mean_delay);
      EXPECT_EQ(one.p99, shared.p99);
      EXPECT_EQ(one.mean_population, shared.mean_population);
      EXPECT_EQ(one.stage_delay, shared.stage_delay);
      EXPECT_EQ(one.hops, shared.hops);
    }
    config.workers = 1;
    config.window = 3.25;
    const VirtualResult other_windows = RunOn(network, config);
    EXPECT_EQ(one.mean_delay, other_windows.mean_delay);
    EXPECT_EQ(one.measured, other_windows.measured);
    EXPECT_EQ(one.max, other_windows.max);
  }
}

TEST(VirtualClock, PacketsInVectorsAndOneByOneGiveTheSameBits) {
  // Slots make ties and several packets of a row at one time; three slots a unit are no power of
  // two; around saturation and above it queues are long; a window of many packets a row takes
  // several turns; a window of 3.25 units ends inside a bucket. A two-fold butterfly of 32 rows has
  // ten stages that touch five bits of the row.
  std::vector<VirtualConfig> configs = {Config(1.8, 300), Config(1.99, 2000), Config(0.7, 300),
                                        Config(9, 40),    Config(2.6, 250),   Config(1.8, 100)};
  configs[2].arrivals.process = ArrivalConfig::Process::kSlotBatch;
  configs[2].slots_per_unit = 3;
  configs[3].window = 25;
  configs[3].flip = 0.25;
  configs[5].window = 3.25;
  for (const Network& network : {MakeNetwork(NetworkKind::kButterfly, 128),
                                 MakeNetwork(NetworkKind::kTwoFoldButterfly, 32)}) {
    for (VirtualConfig& config : configs) {
      config.vectors = Vectors::kNone;
      const VirtualResult plain = RunOn(network, config);
      for (const Vectors vectors : {Vectors::kNarrow, Vectors::kWidest}) {
        config.vectors = vectors;
        const VirtualResult fast = RunOn(network, config);
        EXPECT_EQ(fast.link_packets, plain.link_packets);
        EXPECT_EQ(fast.hops, plain.hops);
        EXPECT_EQ(fast.in_flight, plain.in_flight);
        EXPECT_EQ(fast.mean_delay, plain.mean_delay);
        EXPECT_EQ(fast.p50, plain.p50);
        EXPECT_EQ(fast.p99, plain.p99);
        EXPECT_EQ(fast.max, plain.max);
        EXPECT_EQ(fast.stage_delay, plain.stage_delay);
        EXPECT_EQ(fast.mean_population, plain.mean_population);
      }
    }
  }
}

TEST(VirtualClock, WhatIsCountedDoesNotDependOnHowTimeIsCut) {
  // Left to itself a run of 128 rows counts the packets inside every 16 packets a row and cuts time
  // elsewhere; with the same period given as `window` it cuts there.
  const Network butterfly = MakeNetwork(NetworkKind::kButterfly, 128);
  for (const double rate : {0.02, 0.6, 1.8}) {
    VirtualConfig config = Config(rate, 200 / rate);
    const VirtualResult free = RunOn(butterfly, config);
    config.window = 16 / rate;
    const VirtualResult cut = RunOn(butterfly, config);
    EXPECT_EQ(free.mean_population, cut.mean_population);
    EXPECT_EQ(free.end_time, cut.end_time);
    EXPECT_EQ(free.hops, cut.hops);
    EXPECT_EQ(free.link_packets, cut.link_packets);
    EXPECT_EQ(free.mean_delay, cut.mean_delay);
    EXPECT_EQ(free.accepted, cut.accepted);
  }
}

// The same packets, carried by the definition: whole stages at once, every node's arrivals sorted
// by time and, at equal times, by the row they come from.
struct PlainResult {
  uint64_t measured = 0;
  Ticks delay = 0, longest = 0;
  std::vector<uint64_t> link_packets;  // left in the measured time
};

PlainResult RunPlainly(const Network& network, const VirtualConfig& config, Ticks unit,
                       Ticks until) {
  struct Packet {
    Ticks time, birth;
    Tag tag;
  };
  const Ticks start = static_cast<Ticks>(config.warmup * static_cast<double>(unit));
  const Ticks end = start + static_cast<Ticks>(config.duration * static_cast<double>(unit));
  VirtualSource source(network, config.arrivals,
                       DestinationPattern::Flip(network.dimension(), config.flip), unit,
                       config.slots_per_unit > 0 ? unit / config.slots_per_unit : 1);
  std::vector<std::vector<Packet>> nodes(network.rows());
  std::vector<VirtualPacket> born;
  const int hops = network.hops();
  for (Row row = 0; row < network.rows(); ++row) {
    const size_t count = source.FillRow(row, 2 * end, born, 0);
    for (size_t i = 0; i < count; ++i) {
      nodes[row].push_back({born[i].time, born[i].time, born[i].word >> (64 - hops)});
    }
  }
  PlainResult result;
  result.link_packets.resize(network.link_count());
  for (int stage = 0; stage < network.stages(); ++stage) {
    std::vector<std::vector<Packet>> next(network.rows());
    for (Row row = 0; row < network.rows(); ++row) {
      // Stable: what is there from a lower row stays before what is from a higher one.
      std::stable_sort(nodes[row].begin(), nodes[row].end(),
                       [](const Packet& a, const Packet& b) { return a.time < b.time; });
      Ticks free[2] = {0, 0};
      for (const Packet& packet : nodes[row]) {
        const int port = PortOfHop(network, packet.tag, stage);
        const Row to = network.next_row(stage, row, port);
        const Ticks service = network.straight_is_free() && to == row ? 0 : unit;
        free[port] = std::max(free[port], packet.time) + service;
        next[to].push_back({free[port], packet.birth, packet.tag});
        if (free[port] >= start && free[port] < end)
          ++result.link_packets[network.link_index({stage, row, port})];
      }
    }
    nodes = std::move(next);
  }
  for (const auto& node : nodes) {
    for (const Packet& packet : node) {
      if (packet.birth < start || packet.birth >= end || packet.time >= until) continue;
      ++result.measured;
      result.delay += packet.time - packet.birth;
      result.longest = std::max(result.longest, packet.time - packet.birth);
    }
  }
  return result;
}

void ExpectSameAsPlain(const Network& network, const VirtualConfig& config, Ticks unit) {
  const VirtualResult fast = RunOn(network, config);
  const double ticks = static_cast<double>(unit);
  const PlainResult plain =
      RunPlainly(network, config, unit, static_cast<Ticks>(fast.end_time * ticks));
  EXPECT_EQ(fast.link_packets, plain.link_packets);
  EXPECT_EQ(fast.measured, plain.measured);
  EXPECT_EQ(fast.max, static_cast<double>(plain.longest) / ticks);
  EXPECT_NEAR(fast.mean_delay * static_cast<double>(plain.measured),
              static_cast<double>(plain.delay) / ticks, 1e-6);
}

TEST(VirtualClock, CarriesEveryPacketAsAPlainSimulationDoes) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kHypercube,
                                 NetworkKind::kRandomlyWiredButterfly, NetworkKind::kBenes}) {
    for (const double rate : {0.1, 1.7})
      ExpectSameAsPlain(MakeNetwork(kind, 32), Config(rate, 200), Ticks{1} << 32);
  }
}

Network WithExtraStages(uint32_t rows, int extra_stages) {
  return *Network::Make(
      {.kind = NetworkKind::kButterfly, .rows = rows, .extra_stages = extra_stages});
}

TEST(VirtualClock, CarriesPacketsOverExtraStagesAsAPlainSimulationDoes) {
  for (const int extra : {1, 3, 5, 7}) {
    for (const double rate : {0.1, 1.7}) {
      ExpectSameAsPlain(WithExtraStages(32, extra), Config(rate, 200), Ticks{1} << 32);
    }
  }
  // Eight packets at a time and one by one, for any number of workers.
  const Network network = WithExtraStages(128, 3);
  VirtualConfig config = Config(1.8, 300);
  const VirtualResult fast = RunOn(network, config);
  config.vectors = Vectors::kNone;
  config.workers = 3;
  const VirtualResult plain = RunOn(network, config);
  EXPECT_EQ(fast.link_packets, plain.link_packets);
  EXPECT_EQ(fast.mean_delay, plain.mean_delay);
  EXPECT_EQ(fast.max, plain.max);
}

TEST(VirtualClock, MeasuresFromTimeZeroWithoutAWarmUp) {
  VirtualConfig config = Config(1, 400);
  config.warmup = 0;
  config.batches = 1;
  ExpectSameAsPlain(MakeNetwork(NetworkKind::kButterfly, 8), config, Ticks{1} << 32);
}

TEST(VirtualClock, SlotsWithManyTiesAreCarriedAsAPlainSimulationDoes) {
  VirtualConfig config = Config(1.6, 200);
  config.arrivals.process = ArrivalConfig::Process::kSlotBatch;
  config.slots_per_unit = 3;
  ExpectSameAsPlain(MakeNetwork(NetworkKind::kButterfly, 32), config, Ticks{3} << 20);
}

TEST(VirtualClock, LongQueuesAreCarriedAsAPlainSimulationDoes) {
  // With p = 1 and four packets a unit 1,500 wait at the first link when sources are last measured;
  // queues this long are kept apart from short ones. The uneven windows cut them anywhere.
  VirtualConfig config = Config(4, 500);
  config.flip = 1;
  for (const double window : {0.0, 3.7, 90.0}) {
    config.window = window;
    ExpectSameAsPlain(MakeNetwork(NetworkKind::kButterfly, 16), config, Ticks{1} << 32);
  }
  // Around saturation queues grow long and short again.
  config = Config(1.98, 3000);
  ExpectSameAsPlain(MakeNetwork(NetworkKind::kButterfly, 8), config, Ticks{1} << 32);
}

TEST(VirtualClock, ManyHopsLeaveCoarserTicksAndTheSameDelays) {
  // 24 hops leave 40 bits for a birth. With p = 0 every path is a row of its own, and only its
  // first link queues: T = 24 + rho / (2 (1 - rho)).
  VirtualConfig config = Config(.5, 120);
  config.flip = 0;
  config.workers = 2;
  const VirtualResult r = RunOn(MakeNetwork(NetworkKind::kBenes, 4096), config);
  EXPECT_NEAR(r.mean_delay, 24.5, 3 * HalfWidth(r) + .01);
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
  VirtualConfig workers = Config(.5, 10);
  workers.workers = 0;
  EXPECT_THAT(message(plain, workers), testing::HasSubstr("workers: 0 is outside 1..256"));
  workers.workers = 2;
  workers.first_stages = {0, 1};
  EXPECT_THAT(message(plain, workers), testing::HasSubstr("workers: 2"));
  const Network deep = MakeNetwork(NetworkKind::kTwoFoldButterfly, 1u << 15);
  EXPECT_THAT(message(deep, Config(.5, 9e7)), testing::HasSubstr("duration: 9.9e+07"));
  VirtualConfig slots = Config(.5, 10);
  slots.slots_per_unit = 1000001;
  EXPECT_THAT(message(plain, slots), testing::HasSubstr("slots_per_unit: 1000001"));
}

}  // namespace
}  // namespace bfly::dataplane
