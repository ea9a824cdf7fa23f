// SPDX-License-Identifier: Apache-2.0
// Control changes a running fabric: circuits, sources, links up and down, limits. The account
// balances whenever it is read.
#include <atomic>
#include <numeric>

#include "tests/packet/fabric_fixture.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;

TEST(Conservation, HoldsWheneverAReaderLooksWhileTrafficRuns) {
  // Four segments on two workers, so that packets cross rings three times.
  FabricConfig config = Placed(NetworkKind::kTwoFoldButterfly, 16,
                               {0, 0, OtherCpu(), OtherCpu(), 0, 0, OtherCpu(), OtherCpu()});
  config.links.base.queue_limit = 8;  // drops in the middle of the network
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  // Without a circuit packets go straight through the first copy: row 5 leaves stage 3 by port 1.
  ASSERT_TRUE(fabric->SetLinkUp({3, 5, 1}, false).ok());
  ASSERT_TRUE(
      fabric->SetSources({{.rows = AllRows(16), .destination = Destination::kUniform, .seed = 3}})
          .ok());
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> looks{0};
  const auto look = [&] {
    Conservation before;
    while (!stop.load(std::memory_order_relaxed)) {
      const Snapshot s = fabric->summary();
      const Conservation& c = s.conservation;
      ASSERT_EQ(c.injected, c.delivered + c.dropped + c.in_flight);
      ASSERT_LE(c.in_flight, c.injected) << "negative";
      ASSERT_GE(c.injected, before.injected);
      ASSERT_GE(c.delivered, before.delivered);
      before = c;
      looks.fetch_add(1, std::memory_order_relaxed);
    }
  };
  std::thread first(look), second(look);
  const Snapshot running = WaitUntil(*fabric, [&](const Snapshot& s) {
    return s.conservation.delivered > 1'000'000 && looks.load(std::memory_order_relaxed) > 10'000;
  });
  EXPECT_GT(DroppedBy(running, DropReason::kLinkDown), 0u);
  ASSERT_TRUE(fabric->SetSources({}).ok());
  const Snapshot drained =
      WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.in_flight == 0; });
  stop.store(true, std::memory_order_relaxed);
  first.join();
  second.join();
  EXPECT_EQ(drained.conservation.injected,
            drained.conservation.delivered + drained.conservation.dropped);
  uint64_t last_stage = 0, on_links = 0;
  for (size_t i = 0; i < drained.links.size(); ++i) {
    if (i >= drained.links.size() - 32) last_stage += drained.links[i].packets;
    EXPECT_EQ(drained.links[i].occupancy, 0u);
    EXPECT_LE(drained.links[i].occupancy_peak, 8u);
    for (const uint64_t dropped : drained.links[i].drops) on_links += dropped;
  }
  EXPECT_EQ(last_stage, drained.conservation.delivered) << "all drops happened on earlier links";
  EXPECT_EQ(on_links, drained.conservation.dropped);
}

TEST(Circuits, OnlyTheLinksOfThePathCountItsPackets) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(Placed(NetworkKind::kTwoFoldButterfly, 8, {0, 0, OtherCpu(), OtherCpu(), 0, 0}));
  ASSERT_NE(fabric, nullptr);
  // 3 -> 6 by way of row 5 at the middle level, which the greedy path 3 -> 3 -> 6 does not visit.
  const Tag tag = Tag{5} << 3 | 6;
  ASSERT_TRUE(fabric->InstallCircuit(3, tag).ok());
  ASSERT_TRUE(
      fabric->SetSources({{.rows = {3}, .destination = Destination::kCircuit, .packets = 100}})
          .ok());
  const Snapshot s = WaitForDeliveries(*fabric, 100);
  EXPECT_EQ(s.conservation.delivered, 100u);
  const std::vector<uint64_t> once = WalkedCounts(fabric->network(), {{3, tag}});
  ASSERT_EQ(s.links.size(), once.size());
  for (size_t i = 0; i < once.size(); ++i) EXPECT_EQ(s.links[i].packets, 100 * once[i]) << i;
}

TEST(Circuits, AFrameToAnotherOutputThanTheCircuitsGoesBestEffortOrIsDropped) {
  for (const WithoutCircuit policy : {WithoutCircuit::kBestEffort, WithoutCircuit::kDrop}) {
    FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
    config.without_circuit = policy;
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    ASSERT_TRUE(fabric->InstallCircuit(2, 7).ok());
    ASSERT_TRUE(
        fabric
            ->SetSources({{.rows = {2}, .destination = Destination::kRow, .row = 7, .packets = 5},
                          {.rows = {2}, .destination = Destination::kRow, .row = 4, .packets = 9}})
            .ok());
    Snapshot s = WaitForDeliveries(*fabric, 14);
    const uint64_t without = policy == WithoutCircuit::kDrop ? 9 : 0;
    EXPECT_EQ(DroppedBy(s, DropReason::kNoCircuit), without);
    EXPECT_EQ(s.conservation.delivered, 14 - without);
    // After the release the pair has no circuit.
    ASSERT_TRUE(fabric->RemoveCircuit(2).ok());
    ASSERT_TRUE(
        fabric
            ->SetSources({{.rows = {2}, .destination = Destination::kRow, .row = 7, .packets = 5}})
            .ok());
    s = WaitForDeliveries(*fabric, 19);
    EXPECT_EQ(DroppedBy(s, DropReason::kNoCircuit),
              policy == WithoutCircuit::kDrop ? without + 5 : 0);
  }
}

TEST(Circuits, AreListedAndAWrongOneIsRefused) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kTwoFoldButterfly, 4));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->InstallCircuit(1, 0b1101).ok());
  ASSERT_TRUE(fabric->InstallCircuit(3, 0).ok());
  ASSERT_TRUE(fabric->InstallCircuit(1, 0b0110).ok()) << "a second one replaces the first";
  const std::vector<Fabric::Circuit> circuits = fabric->circuits();
  ASSERT_EQ(circuits.size(), 2u);
  EXPECT_EQ(circuits[0].input, 1u);
  EXPECT_EQ(circuits[0].tag, 0b0110u);
  EXPECT_EQ(circuits[1].input, 3u);
  EXPECT_EQ(circuits[1].tag, 0u);
  EXPECT_EQ(fabric->InstallCircuit(4, 0).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fabric->InstallCircuit(0, 0b10000).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fabric->RemoveCircuit(0).code(), absl::StatusCode::kNotFound);
}

TEST(Links, ALinkThatIsDownDropsItsPacketsAndNoOthers) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  // Stage 0 sets the highest bit: packets from row 1 to rows 4..7 leave by port 1.
  ASSERT_TRUE(fabric->SetLinkUp({0, 1, 1}, false).ok());
  SourceConfig source{.destination = Destination::kRow, .row = 6, .packets = 10};
  source.rows = AllRows(8);
  ASSERT_TRUE(fabric->SetSources({source}).ok());
  Snapshot s = WaitForDeliveries(*fabric, 80);
  EXPECT_EQ(s.conservation.delivered, 70u);
  EXPECT_EQ(DroppedBy(s, DropReason::kLinkDown), 10u);
  EXPECT_EQ(s.links[fabric->network().link_index({0, 1, 1})]
                .drops[static_cast<int>(DropReason::kLinkDown)],
            10u);
  ASSERT_TRUE(fabric->SetLinkUp({0, 1, 1}, true).ok());
  ASSERT_TRUE(fabric->SetSources({source}).ok());
  s = WaitForDeliveries(*fabric, 160);
  EXPECT_EQ(s.conservation.delivered, 150u);
  EXPECT_EQ(fabric->SetLinkUp({3, 0, 0}, false).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fabric->SetLinkUp({0, 8, 0}, false).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(fabric->SetLinkUp({0, 0, 2}, false).code(), absl::StatusCode::kInvalidArgument);
}

TEST(Sources, KeepTheirRateWheneverTheWorkerLooks) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 4));
  ASSERT_NE(fabric, nullptr);
  // 4 rows at 500 a second for 100 packets each: packet 399 is due 399/2000 s after the start.
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(fabric
                  ->SetSources({{.rows = AllRows(4),
                                 .packets_per_second = 500,
                                 .destination = Destination::kUniform,
                                 .packets = 100}})
                  .ok());
  const Snapshot s = WaitForDeliveries(*fabric, 400);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(s.conservation.delivered, 400u);
  EXPECT_GE(took.count(), 0.199);
  for (Row row = 0; row < 4; ++row) {
    EXPECT_EQ(s.links[2 * row].packets + s.links[2 * row + 1].packets, 100u) << "rows take turns";
  }
}

TEST(Sources, AreReplacedWhileTheyRun) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  for (Row row = 0; row < 50; ++row) {
    ASSERT_TRUE(
        fabric->SetSources({{.rows = {row % 8}, .destination = Destination::kRow, .row = 3}}).ok());
  }
  ASSERT_TRUE(fabric->SetSources({}).ok());
  const Snapshot s =
      WaitUntil(*fabric, [](const Snapshot& now) { return now.conservation.in_flight == 0; });
  EXPECT_EQ(s.conservation.injected, s.conservation.delivered);
}

TEST(Sources, AWrongOneIsRefusedWithItsPlace) {
  const std::unique_ptr<Fabric> fabric = MustLoad(OneWorker(NetworkKind::kButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const auto message = [&](const SourceConfig& source) {
    const absl::Status status = fabric->SetSources({{.rows = {1}}, source});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message({.rows = {0, 8}}), "sources[1].rows[1]: 8 is outside 0..7");
  EXPECT_EQ(message({.rows = {0}, .destination = Destination::kRow, .row = 9}),
            "sources[1].row: 9 is outside 0..7");
  EXPECT_EQ(message({.rows = {0}, .bytes = 63}), "sources[1].bytes: 63 is outside 64..9018");
  EXPECT_EQ(message({.rows = {0}, .priority = 8}), "sources[1].priority: 8 is outside 0..7");
  EXPECT_EQ(message({}), "sources[1].rows: empty; name the rows that send");
  EXPECT_EQ(
      message({.rows = {0}, .packets_per_second = -1}),
      "sources[1].packets_per_second: -1 is outside 1e-06..1e+12; use 0 for as fast as possible");
}

TEST(Unload, CountsWhatWasInsideAndAnswersAfterwards) {
  const std::unique_ptr<Fabric> fabric =
      MustLoad(Placed(NetworkKind::kButterfly, 16, {0, OtherCpu(), 0, OtherCpu()}));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(
      fabric->SetSources({{.rows = AllRows(16), .destination = Destination::kUniform}}).ok());
  WaitForDeliveries(*fabric, 10'000);
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(fabric->Unload().ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  const Snapshot s = fabric->snapshot();
  ExpectConserved(s);
  EXPECT_EQ(s.conservation.in_flight, 0u);
  EXPECT_EQ(s.conservation.dropped, DroppedBy(s, DropReason::kUnloaded));
  EXPECT_TRUE(fabric->Unload().ok()) << "a second time does nothing";
  EXPECT_EQ(fabric->SetSources({}).code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace bfly::dataplane
