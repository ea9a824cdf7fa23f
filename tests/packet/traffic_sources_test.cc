// SPDX-License-Identifier: Apache-2.0
// Built-in sources of every kind: what they send, when, and side by side in a running fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "dataplane/traffic/source.h"
#include "tests/packet/fabric_fixture.h"
#include "topologies/arrivals.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;
using Destination = SourceConfig::Destination;

constexpr double kHz = 1e9;  // a cycle is a nanosecond

std::vector<Row> EveryRow(uint32_t rows) {
  std::vector<Row> all;
  for (Row row = 0; row < rows; ++row) all.push_back(row);
  return all;
}

class SourceTest : public testing::Test {
 protected:
  SourceTest()
      : network_(Network::Make({.kind = NetworkKind::kButterfly, .rows = 8}).value()),
        routes_(network_, WithoutCircuit::kBestEffort) {}

  struct Packet {
    uint64_t born;
    Row row;
    WireTag tag;
    uint32_t bytes;
    friend bool operator==(const Packet&, const Packet&) = default;
  };
  // What a source sends up to `end`, looked at every `step` nanoseconds with `room` places.
  std::vector<Packet> Watch(const SourceConfig& config, uint64_t end, uint64_t step, int room) {
    const auto source = Source::Make(config, network_, kStart, kHz);
    std::vector<Packet> packets;
    std::vector<Descriptor> burst(room);
    for (uint64_t now = kStart; now <= kStart + end; now += step) {
      for (int n = room; n == room;) {
        n = source->Emit(burst.data(), room, now, routes_, ledger_);
        for (int i = 0; i < n; ++i) {
          EXPECT_LE(burst[i].time, now) << "sent before it was due";
          packets.push_back({burst[i].time - kStart, burst[i].row, burst[i].tag, burst[i].bytes});
        }
      }
      EXPECT_GT(source->NextDue(), now) << "something due was left";
    }
    EXPECT_EQ(source->counters().packets, packets.size());
    return packets;
  }
  WireTag Tag(Row from, Row to) const {
    return ToWire(GreedyTag(network_, from, to), network_.hops());
  }

  static constexpr uint64_t kStart = 1'000'000'000'000;
  const Network network_;
  RouteTable routes_;
  Ledger ledger_;
};

TEST_F(SourceTest, EveryProcessSendsWhenItsArrivalsSayWheneverOneLooks) {
  for (const ArrivalProcess process : {ArrivalProcess::kPoisson, ArrivalProcess::kBernoulli,
                                       ArrivalProcess::kOnOff, ArrivalProcess::kSlottedBatch}) {
    const SourceConfig config{.rows = {5, 2, 6},
                              .packets_per_second = 1e6,
                              .destination = Destination::kUniform,
                              .seed = 11,
                              .process = process,
                              .slot = 5e-7,
                              .on = 1e-5,
                              .duty = 0.5};
    // 1 ms at a million a second and row.
    const std::vector<Packet> often = Watch(config, 1'000'000, 500, 64);
    EXPECT_EQ(often, Watch(config, 1'000'000, 250'000, 7)) << ArrivalProcessName(process);

    // Independently: row by row, packet by packet.
    std::map<Row, std::vector<Packet>> by_row;
    for (const Packet& packet : often) by_row[packet.row].push_back(packet);
    const auto pattern = TrafficPattern::Make({.name = "uniform", .seed = 11}, 8).value();
    constexpr double kTicks = 1.28e11;  // in a second
    const Arrivals arrivals({process, 1e6, 5e-7, 1e-5, 0.5}, 11, kTicks);
    for (const Row row : config.rows) {
      Arrivals::RowState state = arrivals.First(row, 0);
      size_t i = 0;
      for (; static_cast<double>(state.time) < 0.000999999 * kTicks;
           arrivals.Next(row, state), ++i) {
        ASSERT_LT(i, by_row[row].size());
        const Packet& packet = by_row[row][i];
        ASSERT_NEAR(static_cast<double>(packet.born),
                    static_cast<double>(state.time) / kTicks * 1e9, 1);
        ASSERT_EQ(packet.tag, Tag(row, pattern.Destination(row, i)));
      }
      EXPECT_GT(i, 300u);
    }
  }
}

TEST_F(SourceTest, EachRowStopsAfterItsPackets) {
  for (const ArrivalProcess process : {ArrivalProcess::kConstant, ArrivalProcess::kPoisson}) {
    const SourceConfig config{.rows = EveryRow(8),
                              .packets_per_second = 1e6,
                              .destination = Destination::kRow,
                              .row = 3,
                              .packets = 20,
                              .process = process};
    std::map<Row, int> counts;
    for (const Packet& packet : Watch(config, 1'000'000, 10'000, 5)) ++counts[packet.row];
    EXPECT_EQ(counts.size(), 8u);
    for (const auto& [row, count] : counts) EXPECT_EQ(count, 20) << row;
  }
}

TEST_F(SourceTest, AFinishedSourceTellsTheTimeOfItsLastPacket) {
  const auto source = Source::Make({.rows = {1, 2},
                                    .packets_per_second = 1e6,
                                    .destination = Destination::kRow,
                                    .row = 3,
                                    .packets = 5},
                                   network_, kStart, kHz);
  Descriptor burst[64];
  // A packet each of both rows at 0, 1, ..., 4 us, and looks at 0, 3, 6, ..., 99 us.
  for (uint64_t now = kStart; now < kStart + 100'000; now += 3'000) {
    source->Emit(burst, 64, now, routes_, ledger_);
    const bool finished = now >= kStart + 6'000;
    EXPECT_EQ(source->counters().finished, finished);
    EXPECT_EQ(source->counters().packets == 10, finished);
    EXPECT_DOUBLE_EQ(source->SecondsAt(now + 1'000),
                     finished ? 6e-6 : static_cast<double>(now + 1'000 - kStart) / kHz);
  }
}

// After 1.2 s at this rate the number of packets that are due leaves 64 bits.
TEST_F(SourceTest, ASourceWithAnExtremeRateNeverFallsSilent) {
  const auto source = Source::Make(
      {.rows = EveryRow(8), .packets_per_second = 1e18, .destination = Destination::kRow, .row = 3},
      network_, kStart, kHz);
  Descriptor burst[64];
  for (const uint64_t seconds : {1, 2, 3, 1000}) {
    const auto now = kStart + seconds * static_cast<uint64_t>(kHz);
    EXPECT_EQ(source->Emit(burst, 64, now, routes_, ledger_), 64) << seconds << " s";
  }
}

TEST_F(SourceTest, PatternsDecideWhereEachPacketGoes) {
  SourceConfig config{.rows = EveryRow(8),
                      .destination = Destination::kPattern,
                      .packets = 3,
                      .pattern = {.name = "bitcomp"}};
  const auto complements = Watch(config, 10, 1, 64);
  EXPECT_EQ(complements.size(), 8u * 3);
  for (const Packet& packet : complements) {
    EXPECT_EQ(packet.tag, Tag(packet.row, 7 - packet.row));
  }
  config.pattern = {.name = "permutation", .permutation = {1, 0, 3, 2, 5, 4, 7, 6}};
  const auto neighbours = Watch(config, 10, 1, 64);
  EXPECT_EQ(neighbours.size(), 8u * 3);
  for (const Packet& packet : neighbours) {
    EXPECT_EQ(packet.tag, Tag(packet.row, packet.row ^ 1));
  }
}

TEST_F(SourceTest, ATraceIsSentOnceAsRecorded) {
  const SourceConfig config{
      .destination = Destination::kTrace,
      .trace = std::make_shared<Trace>(
          Trace{{0, 1, 6, 64}, {0, 2, 2, 100}, {5000, 7, 0, 1500}, {5001, 1, 1, 64}})};
  const std::vector<Packet> expected{{0, 1, Tag(1, 6), 64},
                                     {0, 2, Tag(2, 2), 100},
                                     {5000, 7, Tag(7, 0), 1500},
                                     {5001, 1, Tag(1, 1), 64}};
  EXPECT_EQ(Watch(config, 10'000, 1000, 64), expected);
  EXPECT_EQ(Watch(config, 10'000, 1, 1), expected);
}

// 1,024 rows with a packet each microsecond: 102.4 million packets are due after 0.1 s.
class OverloadedSource : public testing::Test {
 protected:
  static constexpr uint64_t kStart = 1'000'000'000'000;
  static constexpr uint64_t kNow = kStart + 100'000'000;
  static constexpr int kRoom = 64;

  std::shared_ptr<Source> Make(Destination destination, uint64_t packets = 0) const {
    return Source::Make({.rows = EveryRow(1024),
                         .packets_per_second = 1e6,
                         .destination = destination,
                         .packets = packets},
                        network_, kStart, kHz);
  }
  int Emit(Source& source, uint64_t now) {
    return source.Emit(burst_, kRoom, now, routes_, ledger_);
  }

  const Network network_ = Network::Make({.kind = NetworkKind::kButterfly, .rows = 1024}).value();
  RouteTable routes_{network_, WithoutCircuit::kDrop};
  Ledger ledger_;
  Descriptor burst_[kRoom];
};

TEST_F(OverloadedSource, LooksAtFewPacketsAPassWhenAllAreDropped) {
  const auto source = Make(Destination::kUniform);
  EXPECT_EQ(Emit(*source, kNow), 0);
  EXPECT_EQ(ledger_.injected, 4u * kRoom);
  EXPECT_EQ(ledger_.dropped[static_cast<int>(DropReason::kNoCircuit)], 4u * kRoom);
  EXPECT_EQ(source->counters().no_circuit, 4u * kRoom);
  EXPECT_EQ(Emit(*source, kNow), 0);
  EXPECT_EQ(ledger_.injected, 8u * kRoom);
}

TEST_F(OverloadedSource, SkipsWhatIsDueWhenNoRowHasACircuit) {
  const auto source = Make(Destination::kCircuit);
  // Three calls look at a quarter of the rows each: packet 768 is due 750 ns after the start.
  for (int call = 1; call <= 3; ++call) EXPECT_EQ(Emit(*source, kNow), 0);
  EXPECT_EQ(source->NextDue(), kStart + 750);
  EXPECT_EQ(Emit(*source, kNow), 0);
  EXPECT_EQ(source->NextDue(), kNow) << "in whole nanoseconds; packet 102,400,001 is due later";
  EXPECT_EQ(ledger_.injected, 0u);

  // Row 5 is the sixth of the 1,024 whose packets begin within a microsecond.
  routes_.Install(5, GreedyTag(network_, 5, 9));
  std::vector<uint64_t> born;
  for (int call = 0; call < 20; ++call) {
    const int n = Emit(*source, kNow + 3000);
    for (int i = 0; i < n; ++i) born.push_back(burst_[i].time - kNow);
  }
  EXPECT_EQ(born, (std::vector<uint64_t>{4, 1004, 2004}));
}

TEST_F(OverloadedSource, FindsTheOnlyRowWithACircuit) {
  const auto source = Make(Destination::kCircuit);
  routes_.Install(1023, GreedyTag(network_, 1023, 9));
  for (int round = 0; round < 3; ++round) {
    int sent = 0;
    for (int call = 0; call < 4; ++call) sent += Emit(*source, kNow);
    EXPECT_EQ(sent, 1);
    EXPECT_EQ(burst_[0].time, kStart + 1000 * round + 999);
  }
}

TEST_F(OverloadedSource, FinishesWhenNoRowHasACircuit) {
  const auto source = Make(Destination::kCircuit, 50'000);
  for (int call = 1; call <= 4; ++call) {
    EXPECT_FALSE(source->counters().finished);
    EXPECT_EQ(Emit(*source, kNow), 0);
  }
  EXPECT_TRUE(source->counters().finished);
}

// 16 rows, 50 packets each by bit complement: the links count what walking by hand counts.
TEST(TrafficSources, BitcompInAFabricTakesTheGreedyPaths) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 16));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = EveryRow(16),
                                 .packets_per_second = 20'000,
                                 .destination = Destination::kPattern,
                                 .packets = 50,
                                 .process = ArrivalProcess::kPoisson,
                                 .pattern = {.name = "bitcomp"}}})
                  .ok());
  const Snapshot s = WaitForDeliveries(*fabric, 16 * 50);
  std::vector<std::pair<Row, bfly::Tag>> packets;
  for (int i = 0; i < 50; ++i) {
    for (Row row = 0; row < 16; ++row) {
      packets.push_back({row, GreedyTag(fabric->network(), row, 15 - row)});
    }
  }
  EXPECT_EQ(PacketCounts(s), WalkedCounts(fabric->network(), packets));
}

TEST(TrafficSources, OneThatRunsGoesOnWhenAnotherIsAddedOrStopped) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const SourceConfig first{
      .rows = {1}, .destination = Destination::kRow, .row = 4, .packets = 100, .id = 1};
  const SourceConfig second{.rows = {2},
                            .bytes = 200,
                            .destination = Destination::kRow,
                            .row = 5,
                            .packets = 10,
                            .id = 2};
  ASSERT_TRUE(fabric->SetSources({first}).ok());
  WaitForDeliveries(*fabric, 100);
  ASSERT_TRUE(fabric->SetSources({first, second}).ok());
  const Snapshot s = WaitForDeliveries(*fabric, 110);
  EXPECT_EQ(s.conservation.delivered, 110u) << "the first was not started again";
  const std::vector<SourceCounters> counters = fabric->sources();
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0].id, 1u);
  EXPECT_EQ(counters[0].packets, 100u);
  EXPECT_EQ(counters[0].bytes, 6400u);
  EXPECT_TRUE(counters[0].finished);
  EXPECT_EQ(counters[1].id, 2u);
  EXPECT_EQ(counters[1].packets, 10u);
  EXPECT_EQ(counters[1].bytes, 2000u);
  ASSERT_TRUE(fabric->SetSources({second}).ok());
  ASSERT_EQ(fabric->sources().size(), 1u);
  EXPECT_EQ(fabric->sources()[0].packets, 10u);
  // Without an id it is a new one every time.
  SourceConfig anonymous = first;
  anonymous.id = 0;
  ASSERT_TRUE(fabric->SetSources({second, anonymous}).ok());
  WaitForDeliveries(*fabric, 210);
  ASSERT_TRUE(fabric->SetSources({second, anonymous}).ok());
  EXPECT_EQ(WaitForDeliveries(*fabric, 310).conservation.delivered, 310u);
}

TEST(TrafficSources, PairsWithoutACircuitAreCountedWhereTheFabricDropsThem) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.without_circuit = WithoutCircuit::kDrop;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->InstallCircuit(0, GreedyTag(fabric->network(), 0, 5)).ok());
  const auto trace = std::make_shared<Trace>(Trace{{0, 0, 5, 64}, {0, 0, 6, 64}, {10, 1, 5, 64}});
  ASSERT_TRUE(fabric->SetSources({{.destination = Destination::kTrace, .trace = trace}}).ok());
  const Snapshot s = WaitForDeliveries(*fabric, 3);
  EXPECT_EQ(s.conservation.delivered, 1u);
  EXPECT_EQ(DroppedBy(s, DropReason::kNoCircuit), 2u);
  EXPECT_EQ(fabric->sources()[0].packets, 1u);
  EXPECT_EQ(fabric->sources()[0].no_circuit, 2u);
}

TEST(TrafficSources, AWrongOneIsRefusedWithItsField) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const auto message = [&](const SourceConfig& source) {
    const absl::Status status = fabric->SetSources({source});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message({.rows = {0}, .process = ArrivalProcess::kPoisson}),
            "sources[0].packets_per_second: 0 is not a rate for poisson; only constant can send "
            "as fast as possible");
  EXPECT_EQ(message({.rows = {0}, .packets_per_second = 1, .process = ArrivalProcess::kBernoulli}),
            "sources[0].slot: 0 is not a length of time; bernoulli needs one above 0");
  EXPECT_THAT(message({.rows = {0},
                       .packets_per_second = 1,
                       .process = ArrivalProcess::kSlottedBatch,
                       .slot = 1e-12}),
              HasSubstr("shorter than 1 ns"));
  SourceConfig slow{.rows = {0},
                    .packets_per_second = 1,
                    .process = ArrivalProcess::kSlottedBatch,
                    .slot = 1e298};
  EXPECT_EQ(message(slow), "sources[0].slot: 1e+298 s is longer than 1e+06 s");
  slow.slot = 1e10;
  EXPECT_EQ(message(slow), "sources[0].slot: 1e+10 s is longer than 1e+06 s");
  slow.slot = 1e6;
  EXPECT_TRUE(fabric->SetSources({slow}).ok());
  for (const double rate : {-1.0, 1e-7, 2e12, std::nan(""), HUGE_VAL}) {
    EXPECT_THAT(message({.rows = {0}, .packets_per_second = rate}),
                HasSubstr("outside 1e-06..1e+12"));
  }
  EXPECT_THAT(message({.rows = {0},
                       .packets_per_second = 1,
                       .process = ArrivalProcess::kOnOff,
                       .on = 1,
                       .duty = 1e-7}),
              HasSubstr("duty: off periods of 1e+07 s"));
  EXPECT_EQ(message({.rows = {0},
                     .destination = Destination::kPattern,
                     .pattern = {.name = "p-flip", .p = 2}}),
            "sources[0].p: 2 is not a probability, 0 to 1");
  EXPECT_EQ(message({.rows = EveryRow(8),
                     .destination = Destination::kUniform,
                     .packets = (uint64_t{1} << 61) + 1}),
            "sources[0].packets: 2305843009213693953 is outside 0..1099511627776");
  EXPECT_EQ(message({.destination = Destination::kTrace}), "sources[0].trace: it has no packet");
  const auto with = [](const TracePacket& packet) {
    return SourceConfig{.destination = Destination::kTrace,
                        .trace = std::make_shared<Trace>(Trace{{5, 0, 1, 64}, packet})};
  };
  EXPECT_THAT(message(with({2'000'000'000'000'000'000, 0, 1, 64})), HasSubstr("trace[1].time: "));
  EXPECT_EQ(message(with({5, 8, 0, 64})), "sources[0].trace[1].row: 8 is outside 0..7");
  EXPECT_EQ(message(with({5, 0, 9, 64})), "sources[0].trace[1].destination: 9 is outside 0..7");
  EXPECT_EQ(message(with({5, 0, 0, 63})), "sources[0].trace[1].bytes: 63 is outside 64..9018");
  EXPECT_EQ(message(with({4, 0, 0, 64})),
            "sources[0].trace[1].time: 4 ns is before the time of the last packet");
}

}  // namespace
}  // namespace bfly::dataplane
