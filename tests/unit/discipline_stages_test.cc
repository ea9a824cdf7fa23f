// SPDX-License-Identifier: Apache-2.0
// The stages of links that are not FIFO (sharing_block.h, priority_block.h) against a plain
// simulation, link by link, and against the general engine, to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "dataplane/virtual_clock/class_source.h"
#include "dataplane/virtual_clock/source.h"
#include "dataplane/virtual_clock/virtual_fabric.h"

namespace bfly::dataplane {
namespace {

constexpr Ticks kUnitTicks = Ticks{1} << 32;

VirtualConfig DisciplineConfig(Discipline discipline, double rate, double duration, uint64_t seed) {
  VirtualConfig config;
  config.discipline = discipline;
  config.arrivals.rate = rate;
  config.arrivals.seed = seed;
  config.warmup = duration / 10;
  config.duration = duration;
  return config;
}

std::vector<double> Shares(size_t classes) {
  return std::vector<double>(classes, 1.0 / static_cast<double>(classes));
}

VirtualResult RunConfig(const Network& network, const VirtualConfig& config) {
  auto result = RunVirtual(network, config);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->injected, result->delivered + result->in_flight);
  return *std::move(result);
}

// ---- A plain simulation: whole lists, one link after the other, no windows.

struct PlainPacket {
  long double time;  // ticks
  Ticks birth;
  Tag directions;  // the next one in the top bit
  uint32_t priority;
};
using PlainList = std::vector<PlainPacket>;

// Whenever the link is free, the most urgent of those that have come goes next.
PlainList PlainPriority(PlainList waiting) {
  PlainList left;
  long double free = 0;
  while (!waiting.empty()) {
    const long double begin = std::max(free, waiting[0].time);
    size_t best = 0;
    for (size_t i = 1; i < waiting.size() && waiting[i].time <= begin; ++i) {
      if (waiting[i].priority < waiting[best].priority) best = i;
    }
    left.push_back(waiting[best]);
    left.back().time = free = begin + kUnitTicks;
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(best));
  }
  return left;
}

// What is left of every packet shrinks at one rate from event to event.
PlainList PlainSharing(const PlainList& arrivals) {
  PlainList left;
  std::vector<std::pair<PlainPacket, long double>> present;
  long double now = 0;
  size_t next = 0;
  while (next < arrivals.size() || !present.empty()) {
    const auto n = static_cast<long double>(present.size());
    const long double leaves = present.empty() ? HUGE_VALL : now + present[0].second * n;
    const bool comes = next < arrivals.size() && arrivals[next].time < leaves;
    const long double event = comes ? arrivals[next].time : leaves;
    for (auto& [packet, work] : present) work -= (event - now) / n;
    now = event;
    if (comes) {
      present.emplace_back(arrivals[next++], kUnitTicks);
    } else {
      left.push_back(present[0].first);
      left.back().time = std::ceil(now - .001L);  // a thousandth of a tick is rounding
      present.erase(present.begin());
    }
  }
  return left;
}

struct PlainResult {
  double mean_delay = 0;
  std::vector<double> class_delay;
  uint64_t measured = 0;
};

PlainResult RunPlain(const Network& network, const VirtualConfig& config) {
  const auto start = static_cast<Ticks>(config.warmup * kUnitTicks);
  const auto end = start + static_cast<Ticks>(config.duration * kUnitTicks);
  VirtualSource source(network, config.arrivals,
                       DestinationPattern::Flip(network.dimension(), config.flip), kUnitTicks, 1);
  ClassSource classes(config.arrivals.seed, config.class_shares, network.rows());
  std::vector<PlainList> nodes(network.rows());
  std::vector<VirtualPacket> born;
  for (Row row = 0; row < network.rows(); ++row) {
    const size_t count = source.FillRow(row, 2 * end, born, 0);
    for (size_t i = 0; i < count; ++i) {
      nodes[row].push_back(
          {static_cast<long double>(born[i].time), born[i].time, born[i].word, classes.Draw(row)});
    }
  }
  for (int stage = 0; stage < network.stages(); ++stage) {
    std::vector<PlainList> next(network.rows());
    for (Row row = 0; row < network.rows(); ++row) {
      for (int port = 0; port < 2; ++port) {
        const Row head = network.next_row(stage, row, port);
        PlainList arrivals;
        for (PlainPacket packet : nodes[row]) {
          if (static_cast<int>(packet.directions >> 63) != port) continue;
          packet.directions <<= 1;
          arrivals.push_back(packet);
        }
        const bool is_free = network.straight_is_free() && head == row;
        const PlainList left = is_free ? arrivals
                               : config.discipline == Discipline::kPriority
                                   ? PlainPriority(std::move(arrivals))
                                   : PlainSharing(arrivals);
        next[head].insert(next[head].end(), left.begin(), left.end());
      }
    }
    for (PlainList& list : next) {
      std::stable_sort(list.begin(), list.end(),
                       [](const PlainPacket& a, const PlainPacket& b) { return a.time < b.time; });
    }
    nodes = std::move(next);
  }
  std::vector<std::pair<double, double>> sums(std::max<size_t>(1, config.class_shares.size()));
  double sum = 0;
  PlainResult result;
  for (const PlainList& list : nodes) {
    for (const PlainPacket& packet : list) {
      if (packet.birth < start || packet.birth >= end) continue;
      if (packet.time >= static_cast<long double>(2 * end)) continue;  // the run is over by then
      const auto delay = static_cast<double>(packet.time - packet.birth) / kUnitTicks;
      sum += delay;
      ++result.measured;
      sums[packet.priority].first += delay;
      sums[packet.priority].second += 1;
    }
  }
  result.mean_delay = sum / static_cast<double>(result.measured);
  for (const auto& [delay, packets] : sums) result.class_delay.push_back(delay / packets);
  return result;
}

TEST(DisciplineStages, DelayPacketsAsAPlainSimulationDoes) {
  for (const uint64_t seed : {1, 2, 3}) {
    for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kHypercube}) {
      const Network network = *Network::Make({.kind = kind, .rows = 8});
      for (const size_t classes : {1, 2, 3, 5}) {
        for (const Discipline discipline : {Discipline::kPriority, Discipline::kProcessorSharing}) {
          VirtualConfig config = DisciplineConfig(discipline, 1.6, 60, seed);
          config.class_shares = Shares(classes);
          const VirtualResult run = RunConfig(network, config);
          const PlainResult plain = RunPlain(network, config);
          EXPECT_EQ(run.measured, plain.measured);
          EXPECT_NEAR(run.mean_delay, plain.mean_delay, 1e-8);
          ASSERT_EQ(run.class_delay.size(), classes);
          for (size_t i = 0; i < classes; ++i) {
            EXPECT_NEAR(run.class_delay[i], plain.class_delay[i], 1e-8)
                << "class " << i << " of " << classes << ", seed " << seed;
          }
        }
      }
    }
  }
}

// ---- The general engine: it runs where occupancy is asked for.

void ExpectSame(const VirtualResult& a, const VirtualResult& b) {
  EXPECT_EQ(a.injected, b.injected);
  EXPECT_EQ(a.delivered, b.delivered);
  EXPECT_EQ(a.in_flight, b.in_flight);
  EXPECT_EQ(a.hops, b.hops);
  EXPECT_EQ(a.measured, b.measured);
  EXPECT_EQ(a.unfinished, b.unfinished);
  EXPECT_EQ(a.mean_delay, b.mean_delay);
  EXPECT_EQ(a.p50, b.p50);
  EXPECT_EQ(a.p99, b.p99);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(a.offered, b.offered);
  EXPECT_EQ(a.accepted, b.accepted);
  EXPECT_EQ(a.mean_population, b.mean_population);
  EXPECT_EQ(a.end_time, b.end_time);
  EXPECT_EQ(a.stage_delay, b.stage_delay);
  EXPECT_EQ(a.class_delay, b.class_delay);
  EXPECT_EQ(a.link_packets, b.link_packets);
  ASSERT_EQ(a.batches.size(), b.batches.size());
  for (size_t i = 0; i < a.batches.size(); ++i) {
    EXPECT_EQ(a.batches[i].packets, b.batches[i].packets) << i;
    EXPECT_EQ(a.batches[i].delay_sum, b.batches[i].delay_sum) << i;
  }
  ASSERT_EQ(a.stages.size(), b.stages.size());
  for (size_t i = 0; i < a.stages.size(); ++i) {
    EXPECT_EQ(a.stages[i].mean, b.stages[i].mean) << i;
    EXPECT_EQ(a.stages[i].p50, b.stages[i].p50) << i;
    EXPECT_EQ(a.stages[i].p99, b.stages[i].p99) << i;
  }
}

// Both engines on one configuration; the stages with windows of any length and any workers.
void ExpectEnginesAgree(const Network& network, VirtualConfig config) {
  config.stage_percentiles = true;
  config.occupancy = true;
  const VirtualResult general = RunConfig(network, config);
  config.occupancy = false;
  ExpectSame(RunConfig(network, config), general);
  config.workers = 3;
  ExpectSame(RunConfig(network, config), general);
}

class Disciplines : public testing::TestWithParam<Discipline> {};

TEST_P(Disciplines, StagesGiveTheBitsOfTheGeneralEngine) {
  const NetworkKind kinds[] = {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly,
                               NetworkKind::kHypercube};
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    const Network network = *Network::Make({.kind = kinds[seed % 3], .rows = 64});
    VirtualConfig config = DisciplineConfig(GetParam(), seed % 2 == 0 ? 1.7 : 0.4, 60, seed);
    config.class_shares = Shares(1 + seed);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ExpectEnginesAgree(network, config);
  }
}

TEST_P(Disciplines, WindowsAndPlacementsChangeNothing) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 64});
  VirtualConfig config = DisciplineConfig(GetParam(), 1.6, 80, 7);
  config.class_shares = Shares(3);
  // Population is counted at the ends of windows, so every length has its own.
  for (const double window : {0.3, 1.75, 20.0, 300.0}) {
    config.window = window;
    SCOPED_TRACE(testing::Message() << "windows of " << window);
    ExpectEnginesAgree(network, config);
  }
  config.window = 0;
  const VirtualResult one = RunConfig(network, config);
  config.first_stages = {0, 2, 3};
  ExpectSame(RunConfig(network, config), one);
}

// Slots: many packets in one tick, on links that were idle too.
TEST_P(Disciplines, TiesAreBrokenAsInTheGeneralEngine) {
  const Network network = *Network::Make({.kind = NetworkKind::kHypercube, .rows = 32});
  for (const uint32_t slots : {1u, 4u, 5000u}) {
    VirtualConfig config = DisciplineConfig(GetParam(), 1.4, 60, 11);
    config.arrivals.process = ArrivalConfig::Process::kSlotBatch;
    config.slots_per_unit = slots;
    config.class_shares = Shares(4);
    SCOPED_TRACE(testing::Message() << slots << " slots a unit");
    ExpectEnginesAgree(network, config);
  }
}

// All rows send to one output, so a few links hold thousands of packets.
TEST_P(Disciplines, LinksThatCannotKeepUpGiveTheBitsOfTheGeneralEngine) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
  VirtualConfig config = DisciplineConfig(GetParam(), 0.5, 300, 13);
  config.fixed.assign(16, 3);
  config.class_shares = Shares(2);
  ExpectEnginesAgree(network, config);
  config = DisciplineConfig(GetParam(), 2.2, 300, 13);
  config.class_shares = Shares(2);
  ExpectEnginesAgree(network, config);
}

// A word has room for few classes only: such a run goes to the general engine.
TEST_P(Disciplines, ManyClassesAreRunToo) {
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 8});
  VirtualConfig config = DisciplineConfig(GetParam(), 1.2, 60, 17);
  config.class_shares = Shares(20);
  EXPECT_EQ(RunConfig(network, config).class_delay.size(), 20u);
}

INSTANTIATE_TEST_SUITE_P(All, Disciplines,
                         testing::Values(Discipline::kProcessorSharing, Discipline::kPriority),
                         [](const auto& discipline) {
                           return discipline.param == Discipline::kPriority ? "Priority"
                                                                            : "Sharing";
                         });

}  // namespace
}  // namespace bfly::dataplane
