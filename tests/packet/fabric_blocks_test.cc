// SPDX-License-Identifier: Apache-2.0
// A stage whose rows are shared by workers: sources, ports, circuits, links that take time and
// unloading behave as on one worker.
#include <cstring>
#include <map>

#include "tests/packet/fabric_fixture.h"
#include "tests/packet/ring_port.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

using Destination = SourceConfig::Destination;

TEST(Blocks, AJourneyTakesWhatItsLinksTake) {
  FabricConfig config = Halves(NetworkKind::kButterfly, 16);
  config.links.base.delay_ns = 1'000'000;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->RecordLatency(true).ok());
  ASSERT_TRUE(
      fabric
          ->SetSources({{.rows = AllRows(16), .destination = Destination::kUniform, .packets = 50}})
          .ok());
  WaitForDeliveries(*fabric, 16 * 50);
  const LatencyReport report = *fabric->RecordLatency(false);
  EXPECT_EQ(report.links.count, 800u);
  // A link to which two workers send has the packets in the order in which they came, so a late
  // worker makes some packets later.
  EXPECT_GE(report.links.mean, 4e6 - 10);
  ASSERT_EQ(report.stages.size(), 4u);
  for (const LatencySummary& stage : report.stages) {
    EXPECT_EQ(stage.count, 800u) << "both blocks of the stage count";
    EXPECT_GE(stage.mean, 1e6 - 10);
  }
}

TEST(Blocks, SourcesSendWhatTheySendOnOneWorker) {
  for (const ArrivalProcess process : {ArrivalProcess::kConstant, ArrivalProcess::kPoisson}) {
    std::vector<std::vector<uint64_t>> counts;
    for (const bool cut : {false, true}) {
      FabricConfig config =
          cut ? Halves(NetworkKind::kButterfly, 16) : OneWorker(NetworkKind::kButterfly, 16);
      const std::unique_ptr<Fabric> fabric = MustLoad(config);
      ASSERT_NE(fabric, nullptr);
      // An order that is not the rows' own.
      ASSERT_TRUE(fabric
                      ->SetSources({{.rows = {9, 1, 15, 2, 3, 8},
                                     .packets_per_second = 20'000,
                                     .destination = Destination::kUniform,
                                     .seed = 5,
                                     .packets = 300,
                                     .process = process}})
                      .ok());
      const Snapshot s = WaitForDeliveries(*fabric, 6 * 300);
      EXPECT_EQ(s.conservation.injected, 1800u);
      EXPECT_EQ(fabric->sources()[0].packets, 1800u);
      counts.push_back(PacketCounts(s));
    }
    EXPECT_EQ(counts[0], counts[1]);
  }
}

TEST(Blocks, ATraceIsSentOnce) {
  auto trace = std::make_shared<Trace>();
  for (uint32_t i = 0; i < 400; ++i) {
    trace->push_back({.nanoseconds = 1000 * i, .row = i * 7 % 16, .destination = i * 5 % 16});
  }
  const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kButterfly, 16));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(fabric->SetSources({{.destination = Destination::kTrace, .trace = trace}}).ok());
  const Snapshot s = WaitForDeliveries(*fabric, 400);
  EXPECT_EQ(s.conservation.delivered, 400u);
  std::vector<std::pair<Row, Tag>> sent;
  for (const TracePacket& p : *trace) {
    sent.push_back({p.row, GreedyTag(fabric->network(), p.row, p.destination)});
  }
  EXPECT_EQ(PacketCounts(s), WalkedCounts(fabric->network(), sent));
}

TEST(Blocks, CircuitsAndLinksThatAreDownHoldForAllRows) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kTwoFoldButterfly, 8));
  ASSERT_NE(fabric, nullptr);
  const Network& network = fabric->network();
  std::vector<std::pair<Row, Tag>> sent;
  for (Row input = 0; input < 8; ++input) {
    // By way of the middle row 7 - input, to the row that is 3 further.
    const Tag tag = Tag{7 - input} << 3 | ((input + 3) % 8);
    ASSERT_TRUE(fabric->InstallCircuit(input, tag).ok());
    sent.insert(sent.end(), 20, {input, tag});
  }
  ASSERT_TRUE(fabric->SetSources({{.rows = AllRows(8), .packets = 20}}).ok());
  Snapshot s = WaitForDeliveries(*fabric, 160);
  EXPECT_EQ(s.conservation.delivered, 160u);
  EXPECT_EQ(PacketCounts(s), WalkedCounts(network, sent));
  // Both links into row 6 of the last level: the circuit of input 3 ends there.
  for (const LinkId& link : network.feeders(5, 6)) {
    ASSERT_TRUE(fabric->SetLinkUp(link, false).ok());
  }
  ASSERT_TRUE(fabric->SetSources({{.rows = AllRows(8), .packets = 20}}).ok());
  s = WaitForDeliveries(*fabric, 320);
  EXPECT_EQ(s.conservation.delivered, 300u);
  EXPECT_EQ(DroppedBy(s, DropReason::kLinkDown), 20u);
}

TEST(Blocks, PortsArePolledByTheWorkersOfTheirRows) {
  FrameSource frames;
  RingPort hosts[4];
  FabricConfig config = Halves(NetworkKind::kButterfly, 4);
  for (Row row = 0; row < 4; ++row) config.ports.push_back(hosts[row].Config({row}));
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  std::map<std::pair<Row, Row>, uint32_t> next;
  uint32_t received = 0;
  const auto collect = [&] {
    for (Row at = 0; at < 4; ++at) {
      while (rte_mbuf* frame = hosts[at].Receive()) {
        const uint32_t id = FrameId(frame);
        EXPECT_EQ(id & 3, at);
        EXPECT_EQ(id >> 4, (next[{id >> 2 & 3, at}]++)) << "order";
        ++received;
        rte_pktmbuf_free(frame);
      }
    }
  };
  for (uint32_t i = 0; i < 200; ++i) {
    for (uint32_t pair = 0; pair < 16; ++pair) {
      rte_mbuf* const frame = frames.Make(pair >> 2, pair & 3, i << 4 | pair);
      while (!hosts[pair >> 2].Send(frame)) collect();
    }
    collect();
  }
  const Snapshot s = WaitUntil(*fabric, [&](const Snapshot& now) {
    collect();
    return now.conservation.delivered + now.conservation.dropped == 3200;
  });
  collect();
  EXPECT_EQ(received, 3200u);
  ASSERT_EQ(s.workers.size(), 2u);
  for (const WorkerCounters& worker : s.workers) {
    EXPECT_EQ(worker.ledger.injected, 1600u) << "each polled the ports of its own two rows";
    EXPECT_EQ(worker.ledger.delivered, 1600u);
    EXPECT_EQ(worker.ledger.handed_on, 800u) << "half of what came went to the other half, once";
  }
}

TEST(Blocks, APortOfRowsOfSeveralBlocksIsPolledByTheWorkerOfTheFirst) {
  FrameSource frames;
  RingPort west(1, 4096), east(1, 4096);
  FabricConfig config = Halves(NetworkKind::kButterfly, 8);
  // Also a worker that has no rows.
  config.ports = {west.Config({0, 5}), east.Config({6, 2})};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  for (uint32_t i = 0; i < 400; ++i) {
    ASSERT_TRUE(west.Send(frames.Make(i % 2 ? 5 : 0, i / 2 % 2 ? 6 : 2, i)));
  }
  const Snapshot s = WaitForDeliveries(*fabric, 400);
  EXPECT_EQ(s.conservation.delivered, 400u);
  EXPECT_EQ(s.workers[0].ledger.injected, 400u);
  EXPECT_EQ(s.workers[1].ledger.delivered, 400u);
  EXPECT_EQ(east.left(), 400u);
}

TEST(Blocks, ABroadcastReachesTheHostsOfAllBlocks) {
  FrameSource frames;
  RingPort hosts[4];
  FabricConfig config = Halves(NetworkKind::kButterfly, 4);
  for (Row row = 0; row < 4; ++row) config.ports.push_back(hosts[row].Config({row}));
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  rte_mbuf* const frame = frames.Make(0, 1, 7);
  std::memset(rte_pktmbuf_mtod(frame, uint8_t*), 0xff, 6);
  ASSERT_TRUE(hosts[0].Send(frame));
  WaitForDeliveries(*fabric, 3);
  EXPECT_EQ(hosts[0].left(), 0u);
  for (Row row = 1; row < 4; ++row) EXPECT_EQ(hosts[row].left(), 1u);
}

TEST(Blocks, TheAccountHoldsWheneverAReaderLooks) {
  const std::unique_ptr<Fabric> fabric = MustLoad(Halves(NetworkKind::kTwoFoldButterfly, 16));
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(
      fabric->SetSources({{.rows = AllRows(16), .destination = Destination::kUniform}}).ok());
  for (int look = 0; look < 300; ++look) ExpectConserved(fabric->summary());
  ASSERT_TRUE(fabric->SetSources({}).ok());
  const Snapshot drained =
      WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.in_flight == 0; });
  EXPECT_EQ(drained.conservation.injected, drained.conservation.delivered);
}

TEST(Blocks, UnloadCountsWhatIsOnLinksOfEveryBlock) {
  FabricConfig config = Halves(NetworkKind::kButterfly, 16);
  config.links.base.delay_ns = 1'000'000'000;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(
      fabric
          ->SetSources({{.rows = AllRows(16), .destination = Destination::kUniform, .packets = 5}})
          .ok());
  WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.injected == 80; });
  ASSERT_TRUE(fabric->Unload().ok());
  const Snapshot s = fabric->snapshot();
  ExpectConserved(s);
  EXPECT_EQ(DroppedBy(s, DropReason::kUnloaded), 80u);
  EXPECT_EQ(s.conservation.in_flight, 0u);
}

}  // namespace
}  // namespace bfly::dataplane
