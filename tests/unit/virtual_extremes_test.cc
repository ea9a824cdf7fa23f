// SPDX-License-Identifier: Apache-2.0
// The virtual clock where numbers are large or small: many slots a unit, rows that hardly ever
// send, lists and sums that outgrow what most runs need.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/delay_histogram.h"
#include "dataplane/virtual_clock/delay_sink.h"
#include "dataplane/virtual_clock/rounds.h"
#include "dataplane/virtual_clock/stage_block.h"
#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/network.h"

namespace bfly::dataplane {
namespace {

using Process = ArrivalConfig::Process;

VirtualConfig ArrivalsAt(double rate, double duration) {
  VirtualConfig config;
  config.arrivals.rate = rate;
  config.arrivals.seed = 5;
  config.warmup = duration / 10;
  config.duration = duration;
  return config;
}

VirtualResult Finish(const Network& network, const VirtualConfig& config) {
  auto result = RunVirtual(network, config);
  EXPECT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->injected, result->delivered + result->in_flight);
  return *std::move(result);
}

Network Butterfly(uint32_t rows) {
  return *Network::Make({.kind = NetworkKind::kButterfly, .rows = rows});
}

TEST(VirtualExtremes, AnyNumberOfSlotsAUnitGivesTheSameBitsInVectorsAndOneByOne) {
  // 128 rows have two groups of stages, between which packets are packed.
  const Network butterfly = Butterfly(128);
  for (const uint32_t slots : {1u, 4095u, 8191u, 8192u, 65537u, 1000000u}) {
    for (const Process process : {Process::kSlotBatch, Process::kPoisson}) {
      VirtualConfig config = ArrivalsAt(1.8, 60);
      config.arrivals.process = process;
      config.slots_per_unit = slots;
      config.vectors = Vectors::kNone;
      const VirtualResult plain = Finish(butterfly, config);
      for (const Vectors vectors : {Vectors::kNarrow, Vectors::kWidest}) {
        config.vectors = vectors;
        const VirtualResult fast = Finish(butterfly, config);
        EXPECT_EQ(fast.link_packets, plain.link_packets) << slots;
        EXPECT_EQ(fast.mean_delay, plain.mean_delay) << slots;
        EXPECT_EQ(fast.max, plain.max) << slots;
        EXPECT_EQ(fast.stage_delay, plain.stage_delay) << slots;
        EXPECT_EQ(fast.mean_population, plain.mean_population) << slots;
      }
    }
  }
}

// The number of packets and the sum of delays of each batch.
std::vector<std::pair<uint64_t, double>> BatchesOf(const VirtualResult& result) {
  std::vector<std::pair<uint64_t, double>> batches;
  for (const DelayBatch& batch : result.batches) {
    batches.emplace_back(batch.packets, batch.delay_sum);
  }
  return batches;
}

TEST(DelayHistogram, GivesTheQuantilesOfValuesWithEightSignificantBits) {
  for (int shift = 0; shift <= 55; shift += 11) {
    for (uint64_t bits = 0; bits < 256; ++bits) {
      DelayHistogram delays;
      for (int i = 0; i < 3; ++i) delays.Add(bits << shift);
      for (const double fraction : {0.0, 0.5, 0.99, 1.0}) {
        EXPECT_EQ(delays.Quantile(fraction), bits << shift);
      }
    }
  }
}

TEST(DelayHistogram, IsLessThanOnePartIn128BelowAQuantileAndNeverAbove) {
  DelayHistogram delays;
  // Value number i of 1000.
  const auto value = [](uint64_t i) { return 7 * i * i * i; };
  for (uint64_t i = 1; i <= 1000; ++i) delays.Add(value(i));
  for (const uint64_t i : {1, 10, 250, 500, 990, 1000}) {
    const uint64_t found = delays.Quantile((static_cast<double>(i) - 0.5) / 1000);
    EXPECT_LE(found, value(i)) << i;
    EXPECT_GT(found, value(i) - value(i) / 128 - 1) << i;
  }
}

// Where packets hardly ever meet, a packet spends one unit at each of two links.
TEST(VirtualExtremes, PercentilesOfPacketsThatDoNotWaitAreWholeUnits) {
  VirtualConfig config = ArrivalsAt(0.01, 20000);
  config.stage_percentiles = true;
  const VirtualResult result = Finish(Butterfly(4), config);
  EXPECT_EQ(result.p50, 2);
  ASSERT_EQ(result.stages.size(), 2u);
  for (const auto& stage : result.stages) {
    EXPECT_EQ(stage.p50, 1);
    EXPECT_LE(stage.p50, stage.mean);
  }
}

TEST(VirtualExtremes, BatchesAreTheSameInVectorsAndOneByOne) {
  // More packets come than links carry, so packets of several batches leave side by side, and with
  // them packets that were born before the measured time.
  const Network butterfly = Butterfly(128);
  VirtualConfig config = ArrivalsAt(2.4, 300);
  for (const int batches : {5, 20, 60, 300}) {
    config.batches = batches;
    config.vectors = Vectors::kNone;
    const VirtualResult plain = Finish(butterfly, config);
    for (const Vectors vectors : {Vectors::kNarrow, Vectors::kWidest}) {
      config.vectors = vectors;
      EXPECT_EQ(BatchesOf(Finish(butterfly, config)), BatchesOf(plain)) << batches;
    }
  }
}

#if BFLY_HAS_NARROW_VECTORS
TEST(VirtualExtremes, ADelayIsOfItsOwnBatchWhereAGroupOfPacketsIsMeasuredInPart) {
  if (!HasNarrowVectors()) GTEST_SKIP() << "the CPU has no AVX2";
  // Two hops, two batches of 1000 ticks. Of eight packets the first ones all are of the first
  // batch. Of the others two are of the second batch, one was born too early, and one too late.
  WordLayout words;
  words.hops = 2;
  constexpr uint32_t kPackets = 8;
  const Ticks births[kPackets] = {1000, 1001, 1002, 1003, 999, 2000, 2001, 3000};
  std::vector<Ticks> times(kPackets + kNarrowSpare);
  std::vector<PacketWord> at_end(kPackets + kNarrowSpare);
  for (uint32_t i = 0; i < kPackets; ++i) {
    times[i] = births[i] + 5000 + i;
    at_end[i] = births[i] << words.hops;
  }
  DelaySink sink(words, /*start=*/1000, /*end=*/3000, /*batches=*/2, /*classes=*/1, /*unit=*/1);
  // The first list makes the first batch the one that is filled.
  sink.TakeNarrow(times.data(), at_end.data(), 4, {});
  sink.TakeNarrow(times.data(), at_end.data(), kPackets, {});
  VirtualResult result;
  sink.Report(result);
  const std::vector<std::pair<uint64_t, double>> expected = {{8, 2 * (5000 + 5001 + 5002 + 5003)},
                                                             {2, 5005 + 5006}};
  EXPECT_EQ(BatchesOf(result), expected);
  EXPECT_EQ(sink.measured(), 10u);
  EXPECT_EQ(sink.delivered(), 12u);
}
#endif

TEST(VirtualExtremes, PacketsBeforeATimeAreCountedInListsOfAnyLength) {
  std::vector<VirtualPacket> packets(700 + PacketArena::kReadAhead);
  for (size_t i = 0; i < packets.size(); ++i) packets[i].time = 10 * i;
  for (uint32_t count = 0; count <= 700; ++count) {
    // All of them, all but one, and the first three.
    const std::vector<Ticks> times = {10 * Ticks{count}, 10 * Ticks{count > 0 ? count - 1 : 0}, 30};
    uint64_t expected = 0;
    for (const Ticks time : times) {
      for (uint32_t i = 0; i < count; ++i) expected += packets[i].time < time;
    }
    ASSERT_EQ(CountBefore({packets.data(), count, 0}, times), expected) << count;
  }
}

TEST(VirtualExtremes, PopulationDoesNotDependOnWindowsThatBringHundredsOfPackets) {
  // All rows send to output 0, whose link carries a packet a unit: 1,200 in a window of 60 packets
  // a row.
  const Network butterfly = Butterfly(128);
  VirtualConfig config = ArrivalsAt(0.05, 4000);
  config.fixed.resize(128, 0);
  const VirtualResult free = Finish(butterfly, config);
  config.window = 16 / 0.05;
  const VirtualResult cut = Finish(butterfly, config);
  EXPECT_EQ(free.mean_population, cut.mean_population);
}

TEST(VirtualExtremes, RowsThatHardlyEverSendEndTheirRun) {
  // Gaps and windows of more than 2^64 ticks. Eight rows send less than a packet in 10^7 runs.
  const Network butterfly = Butterfly(8);
  for (const double rate : {1e-9, 1e-10, 1e-12, 1e-300}) {
    for (const Process process : {Process::kPoisson, Process::kConstant, Process::kSlotBatch}) {
      for (const Discipline discipline :
           {Discipline::kFifo, Discipline::kProcessorSharing, Discipline::kPriority}) {
        VirtualConfig config = ArrivalsAt(rate, 10);
        config.arrivals.process = process;
        config.slots_per_unit = 2;
        config.discipline = discipline;
        config.class_shares = {1};
        EXPECT_EQ(Finish(butterfly, config).injected, 0u) << rate;
        config.occupancy = true;  // links one by one
        EXPECT_EQ(Finish(butterfly, config).injected, 0u) << rate;
      }
    }
    const auto rounds = RunRounds(butterfly, ArrivalsAt(rate, 10), 1);
    ASSERT_TRUE(rounds.ok()) << rounds.status();
    EXPECT_EQ(rounds->run.measured, 0u) << rate;
  }
}

TEST(VirtualExtremes, DelaysOfMoreThanTwoToThe64TicksAreSummedUp) {
  // Every bit flips, so the two links of the stage carry three packets a unit each, and the wait
  // grows to 80,000 units of 2^32 ticks. Links one by one and plain FIFO stages give the same sums.
  const Network butterfly = Butterfly(2);
  VirtualConfig config = ArrivalsAt(3, 60000);
  config.flip = 1;
  config.batches = 1;
  const VirtualResult plain = Finish(butterfly, config);
  ASSERT_GT(plain.batches[0].delay_sum, 0x1p32);
  config.occupancy = true;
  const VirtualResult servers = Finish(butterfly, config);
  EXPECT_EQ(servers.measured, plain.measured);
  EXPECT_NEAR(servers.mean_delay / plain.mean_delay, 1, 1e-12);
  ASSERT_EQ(servers.stage_delay.size(), 1u);
  EXPECT_NEAR(servers.stage_delay[0] / plain.mean_delay, 1, 1e-12);
}

TEST(VirtualExtremes, LongQueuesThatAllBecomeShortInOneWindowHaveRoom) {
  // 64 nodes, two links each. A window brings 200 packets to every link, which leave one by one;
  // the memory for what waits is as large as the window needs.
  constexpr size_t kNodes = 64;
  constexpr uint32_t kPackets = 200;
  constexpr Ticks kUnit = Ticks{1} << 32;
  BlockWiring wiring{.service = std::vector<Ticks>(2 * kNodes, kUnit),
                     .in = std::vector<uint32_t>(kNodes),
                     .out = std::vector<uint32_t>(2 * kNodes)};
  std::iota(wiring.out.begin(), wiring.out.end(), 0u);
  for (uint32_t node = 0; node < kNodes; ++node) wiring.in[node] = 2 * node;
  std::vector<VirtualPacket> none(1, {kNever, 0}), packets;
  for (uint32_t i = 0; i < 2 * kPackets; ++i) packets.push_back({0, PacketWord{i % 2} << 63});
  packets.push_back({kNever, 0});
  packets.resize(packets.size() + PacketArena::kReadAhead);

  StageBlock block;
  std::vector<NodeState> nodes(kNodes);
  std::vector<PacketList> in(2 * kNodes), out(2 * kNodes);
  PacketArena places;
  uint64_t left = 0;
  for (Ticks window = 0; left < 2 * kNodes * kPackets; ++window) {
    ASSERT_LT(window, kPackets + 2);
    for (size_t list = 0; list < 2 * kNodes; ++list) {
      in[list] = window == 0 && list % 2 == 0 ? PacketList{packets.data(), 2 * kPackets, 0}
                                              : PacketList{none.data(), 0, 0};
    }
    std::vector<PacketWord> kept;
    places.Clear();
    StageWindow when;
    when.start = window * kUnit;
    when.end = when.start + kUnit;
    block.RunWindow(wiring, nodes.data(),
                    {in.data(), wiring.in.data(), wiring.out.data(), out.data()}, places, when,
                    kept);
    for (const PacketList& list : out) left += list.count;
    EXPECT_EQ(block.queued(), 2 * kNodes * kPackets - left);
  }
}

TEST(VirtualExtremes, RefusesWhatTicksAreTooCoarseFor) {
  const auto message = [](const Network& network, const VirtualConfig& config) {
    return std::string(RunVirtual(network, config).status().message());
  };
  // 28 hops and 2^28 units leave 8 bits for a unit.
  const Network deep = *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 1u << 14});
  VirtualConfig config = ArrivalsAt(5, 9e7);
  EXPECT_EQ(message(deep, config),
            "rate: 5 packets per unit are too many where a unit has 256 ticks, because of 28 hops "
            "and a duration of 9.9e+07 units with the warm-up");
  config = ArrivalsAt(1, 1e-12);
  EXPECT_EQ(message(Butterfly(8), config), "duration: 1e-12 units are shorter than a tick");
  config = ArrivalsAt(1, 0.25);
  config.slots_per_unit = 3;
  EXPECT_EQ(message(Butterfly(8), config), "duration: 0.25 units are shorter than a slot");
}

}  // namespace
}  // namespace bfly::dataplane
