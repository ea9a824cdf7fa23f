// SPDX-License-Identifier: Apache-2.0
// A fabric that is split over two data planes with a trunk between them behaves like a fabric in
// one.
#include <numeric>
#include <vector>

#include "tests/packet/fabric_fixture.h"
#include "tests/packet/ring_port.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

// Two ethdevs wired to each other by two rings for each queue pair.
class RingCable {
 public:
  explicit RingCable(unsigned queues = 1) {
    for (auto& rings : rings_) {
      for (unsigned q = 0; q < queues; ++q) {
        rings.push_back(rte_ring_create(UniqueName("cable").c_str(), 1024, SOCKET_ID_ANY, 0));
        EXPECT_NE(rings.back(), nullptr);
      }
    }
    for (int end = 0; end < 2; ++end) {
      EXPECT_GE(rte_eth_from_rings(names_[end].c_str(), rings_[end].data(), queues,
                                   rings_[1 - end].data(), queues, 0),
                0);
    }
  }
  ~RingCable() {
    for (int end = 0; end < 2; ++end) rte_vdev_uninit(device(end).c_str());
    Empty();
    for (const auto& rings : rings_) {
      for (rte_ring* ring : rings) rte_ring_free(ring);
    }
  }
  // How many frames came to an end at a queue pair and were not read there.
  unsigned unread(int end, size_t queue) const { return rte_ring_count(rings_[end][queue]); }
  // Frees the frames that were not read.
  void Empty() {
    for (const auto& rings : rings_) {
      for (rte_ring* ring : rings) {
        void* frame;
        while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
      }
    }
  }
  std::string device(int end) const { return "net_ring_" + names_[end]; }

 private:
  std::string names_[2] = {UniqueName("cable_end"), UniqueName("cable_end")};
  std::vector<rte_ring*> rings_[2];  // by end and queue pair
};

// With two blocks rows 0-2 are on another worker than rows 3-7.
FabricConfig Half(int first_stage, int last_stage, int cpu, int blocks, const RingCable& cable,
                  bool sends) {
  FabricConfig config = OneWorker(NetworkKind::kTwoFoldButterfly, 8);
  config.placement = {
      {.first_stage = first_stage, .last_stage = last_stage, .lcore = UsableCpus()[cpu]}};
  if (blocks == 2) {
    config.placement.push_back(config.placement[0]);
    config.placement[0].rows = {0, 2};
    config.placement[1].rows = {3, 7};
    config.placement[1].lcore = Lcores()[static_cast<size_t>(cpu) + 2].number;
  }
  TrunkConfig trunk;
  trunk.name = "trunk";
  trunk.device = cable.device(sends ? 0 : 1);
  trunk.after_stage = 2;
  trunk.sends = sends;
  config.trunks = {trunk};
  return config;
}

class Split : public testing::TestWithParam<int> {};

TEST_P(Split, TwoDataPlanesJoinedByATrunkCountAndDeliverLikeOne) {
  ASSERT_GE(UsableCpus().size(), 2u) << "two fabrics in one process need two CPUs";
  FrameSource frames;
  RingPort west, east;
  RingCable cable;
  FabricConfig left = Half(0, 2, 0, GetParam(), cable, true);
  left.ports = {west.Config({1})};
  left.rows_elsewhere = {6};
  FabricConfig right = Half(3, 5, 1, GetParam(), cable, false);
  right.ports = {east.Config({6})};
  const std::unique_ptr<Fabric> a = MustLoad(left);
  const std::unique_ptr<Fabric> b = MustLoad(right);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  const Network& network = a->network();

  // Frames of a host along a circuit, and synthetic packets of every pair but that one's input.
  const Tag circuit = Tag{4} << 3 | 6;
  ASSERT_TRUE(a->InstallCircuit(1, circuit).ok());
  std::vector<std::pair<Row, Tag>> sent;
  for (uint32_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(west.Send(frames.Make(1, 6, i)));
    sent.push_back({1, circuit});
  }
  std::vector<SourceConfig> sources;
  for (Row output = 0; output < 8; ++output) {
    SourceConfig source;
    source.rows = {0, 2, 3, 4, 5, 6, 7};
    source.destination = SourceConfig::Destination::kRow;
    source.row = output;
    source.packets = 1;
    sources.push_back(source);
    for (Row input : source.rows) sent.push_back({input, GreedyTag(network, input, output)});
  }
  ASSERT_TRUE(a->SetSources(sources).ok());

  const Snapshot at_b = WaitForDeliveries(*b, sent.size());
  const Snapshot at_a = a->snapshot();
  ExpectConserved(at_a);
  EXPECT_EQ(at_a.conservation.injected, sent.size());
  EXPECT_EQ(at_a.trunk_out, sent.size());
  EXPECT_EQ(at_b.trunk_in, sent.size());
  EXPECT_EQ(at_b.conservation.delivered, sent.size());
  EXPECT_EQ(at_a.conservation.dropped + at_b.conservation.dropped, 0u);
  std::vector<uint64_t> counted = PacketCounts(at_a);
  for (uint64_t packets : PacketCounts(at_b)) counted.push_back(packets);
  EXPECT_EQ(counted, WalkedCounts(network, sent));
  for (uint32_t i = 0; i < 200; ++i) {
    rte_mbuf* frame = east.Receive();
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(FrameId(frame), i);
    rte_pktmbuf_free(frame);
  }
}

// Read in this order, no sum over both has more deliveries than injections, wherever in a pass the
// workers are.
TEST_P(Split, WhatCameOverATrunkWasCountedByItsSender) {
  ASSERT_GE(UsableCpus().size(), 2u) << "two fabrics in one process need two CPUs";
  RingCable cable;
  const std::unique_ptr<Fabric> a = MustLoad(Half(0, 2, 0, GetParam(), cable, true));
  const std::unique_ptr<Fabric> b = MustLoad(Half(3, 5, 1, GetParam(), cable, false));
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  SourceConfig source;
  source.rows = {0, 1, 2, 3, 4, 5, 6, 7};
  source.destination = SourceConfig::Destination::kUniform;
  ASSERT_TRUE(a->SetSources({source}).ok());
  for (int i = 0; i < 1000; ++i) {
    const uint64_t came = b->summary().trunk_in;
    const uint64_t left = a->summary().trunk_out;
    ASSERT_GE(left, came) << "at look " << i;
  }
  EXPECT_GT(b->summary().trunk_in, 0u);
}

INSTANTIATE_TEST_SUITE_P(Blocks, Split, testing::Values(1, 2));

// Some stages of a butterfly of 8 rows, with a trunk of several queue pairs after `after_stage`.
FabricConfig PartOfButterfly(int first_stage, int last_stage, int cpu, int after_stage,
                             int queue_pairs, const RingCable& cable) {
  const bool sends = after_stage == last_stage;
  FabricConfig config = Half(first_stage, last_stage, cpu, 1, cable, sends);
  config.network = {.kind = NetworkKind::kButterfly, .rows = 8};
  config.trunks[0].after_stage = after_stage;
  config.trunks[0].queue_pairs = queue_pairs;
  config.mbufs = 8191;
  return config;
}

// Gives the rows 4-7 to another worker.
void CutByLeadingBit(FabricConfig& config, int lcore) {
  config.placement.push_back(config.placement[0]);
  config.placement[0].rows = {0, 3};
  config.placement[1].rows = {4, 7};
  config.placement[1].lcore = lcore;
}

// A packet of every pair goes through both halves. Returns what each then counts.
std::pair<Snapshot, Snapshot> ExchangeAllPairs(const FabricConfig& left,
                                               const FabricConfig& right) {
  const std::unique_ptr<Fabric> a = MustLoad(left);
  const std::unique_ptr<Fabric> b = MustLoad(right);
  if (a == nullptr || b == nullptr) return {};
  std::vector<std::pair<Row, Tag>> sent;
  std::vector<SourceConfig> sources;
  for (Row output = 0; output < 8; ++output) {
    SourceConfig source;
    source.rows = {0, 1, 2, 3, 4, 5, 6, 7};
    source.destination = SourceConfig::Destination::kRow;
    source.row = output;
    source.packets = 1;
    sources.push_back(source);
    for (Row input : source.rows) sent.push_back({input, GreedyTag(a->network(), input, output)});
  }
  EXPECT_TRUE(a->SetSources(sources).ok());
  const Snapshot at_b = WaitForDeliveries(*b, 64);
  const Snapshot at_a = WaitUntil(*a, [](const Snapshot& now) { return now.trunk_out == 64; });
  ExpectConserved(at_a);
  EXPECT_EQ(at_b.conservation.delivered, 64u);
  EXPECT_EQ(at_b.trunk_in, 64u);
  std::vector<uint64_t> counted = PacketCounts(at_a);
  for (uint64_t packets : PacketCounts(at_b)) counted.push_back(packets);
  EXPECT_EQ(counted, WalkedCounts(a->network(), sent));
  return {at_a, at_b};
}

class SplitQueues : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_GE(UsableCpus().size(), 2u) << "two fabrics in one process need two CPUs";
  }
};

// Stage 0 is before the trunk, and behind it two workers have half of the rows each.
TEST_P(SplitQueues, EveryWorkerBehindATrunkPollsTheQueuePairsOfItsRows) {
  const int queue_pairs = GetParam();
  RingCable cable(static_cast<unsigned>(queue_pairs));
  FabricConfig right = PartOfButterfly(1, 2, 1, 0, queue_pairs, cable);
  CutByLeadingBit(right, Lcores()[3].number);
  const auto [at_a, at_b] =
      ExchangeAllPairs(PartOfButterfly(0, 0, 0, 0, queue_pairs, cable), right);
  // Stage 0 sets the leading bit of the row, and blocks cut by it exchange nothing after that. Half
  // of the packets come to each worker, by the trunk alone if no queue pair has rows of both.
  ASSERT_EQ(at_b.workers.size(), 2u);
  const bool apart = queue_pairs % 2 == 0;
  EXPECT_EQ(at_b.workers[0].rings.empty() && at_b.workers[1].rings.empty(), apart);
  for (const WorkerCounters& worker : at_b.workers) {
    EXPECT_EQ(worker.ledger.delivered, 32u);
    if (apart) {
      EXPECT_EQ(worker.ledger.taken_over, 32u);
    }
  }
}

// Queue pairs 0, 1 and 2 of three have the rows 0-2, 3-5 and 6-7. The first worker receives on the
// second one, because row 3 is its row, and hands over what comes to rows 4 and 5.
TEST_P(SplitQueues, TheStatusOfATrunkSaysWhoReceivesAndWhatIsHandedOver) {
  const int queue_pairs = GetParam();
  RingCable cable(static_cast<unsigned>(queue_pairs));
  FabricConfig right = PartOfButterfly(1, 2, 1, 0, queue_pairs, cable);
  CutByLeadingBit(right, Lcores()[3].number);
  const std::unique_ptr<Fabric> fabric = MustLoad(right);
  ASSERT_NE(fabric, nullptr);
  const std::vector<PortStatus> all = fabric->port_status();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "trunk");
  EXPECT_EQ(all[0].queue_pairs, queue_pairs);
  std::vector<int> lcores = {UsableCpus()[1]};
  if (queue_pairs > 1) lcores.push_back(Lcores()[3].number);
  EXPECT_EQ(all[0].lcores, lcores);
  EXPECT_EQ(all[0].steering, queue_pairs > 1 ? Steering::kSender : Steering::kSoftware);
  EXPECT_EQ(all[0].rows_handed_over, queue_pairs == 3 ? 2 : 0);
}

TEST_P(SplitQueues, TheStatusOfATrunkSaysWhoSends) {
  const int queue_pairs = GetParam();
  RingCable cable(static_cast<unsigned>(queue_pairs));
  FabricConfig left = PartOfButterfly(0, 1, 0, 1, queue_pairs, cable);
  CutByLeadingBit(left, Lcores()[2].number);
  const std::unique_ptr<Fabric> fabric = MustLoad(left);
  ASSERT_NE(fabric, nullptr);
  const std::vector<PortStatus> all = fabric->port_status();
  ASSERT_EQ(all.size(), 1u);
  std::vector<int> lcores = {UsableCpus()[0]};
  if (queue_pairs > 1) lcores.push_back(Lcores()[2].number);
  EXPECT_EQ(all[0].lcores, lcores);
  EXPECT_EQ(all[0].steering, Steering::kNone);
  EXPECT_EQ(all[0].rows_handed_over, 0);
}

// Two workers have half of the rows each at stages 0 and 1, and stage 2 is behind the trunk.
TEST_P(SplitQueues, EveryWorkerBeforeATrunkSendsOnTheQueuePairsOfItsRows) {
  const int queue_pairs = GetParam();
  RingCable cable(static_cast<unsigned>(queue_pairs));
  FabricConfig left = PartOfButterfly(0, 1, 0, 1, queue_pairs, cable);
  CutByLeadingBit(left, Lcores()[2].number);
  const auto [at_a, at_b] = ExchangeAllPairs(left, PartOfButterfly(2, 2, 1, 1, queue_pairs, cable));
  ASSERT_EQ(at_a.workers.size(), 2u);
  // At stage 0 each worker hands half of its 32 packets to the other, and each has 32 behind it.
  // With one queue pair the second worker hands all of them to the first. Of three the second one
  // has the rows 3 to 5 and is the first worker's, so the second worker hands over those at rows 4
  // and 5.
  const uint64_t gathered = queue_pairs == 1 ? 32 : queue_pairs == 3 ? 16 : 0;
  EXPECT_EQ(at_a.workers[0].ledger.taken_over, 16 + gathered);
  EXPECT_EQ(at_a.workers[1].ledger.taken_over, 16u);
  EXPECT_EQ(at_a.workers[0].ledger.handed_on, 16 + 32 + gathered);
  EXPECT_EQ(at_a.workers[1].ledger.handed_on, 16u + 32);
}

INSTANTIATE_TEST_SUITE_P(QueuePairs, SplitQueues, testing::Values(1, 2, 3, 16));

// Nobody reads at the other end. The ring of a queue pair has room for 1,023 frames.
TEST(Trunk, WithOneStuckQueuePairLosesNothingOfTheOther) {
  RingCable cable(2);
  const std::unique_ptr<Fabric> fabric = MustLoad(PartOfButterfly(0, 0, 0, 0, 2, cable));
  ASSERT_NE(fabric, nullptr);
  // Of 13 packets 3 go by row 0, of queue pair 0, and 10 by row 5, of queue pair 1.
  auto trace = std::make_shared<Trace>();
  for (uint64_t i = 0; i < 3900; ++i) {
    trace->push_back(i % 13 < 3 ? TracePacket{i * 100'000, 0, 0, 64}
                                : TracePacket{i * 100'000, 1, 7, 64});
  }
  SourceConfig source;
  source.destination = SourceConfig::Destination::kTrace;
  source.trace = trace;
  ASSERT_TRUE(fabric->SetSources({source}).ok());
  const Snapshot s = WaitUntil(*fabric, [](const Snapshot& now) {
    return now.conservation.injected == 3900 && now.conservation.in_flight == 0;
  });
  EXPECT_EQ(cable.unread(1, 0), 900u);
  EXPECT_EQ(cable.unread(1, 1), 1023u);
  EXPECT_EQ(s.trunk_out, 900u + 1023);
  EXPECT_EQ(DroppedBy(s, DropReason::kPortFull), 3000u - 1023);
  EXPECT_EQ(s.conservation.dropped, 3000u - 1023);
  cable.Empty();
}

// The process behind a trunk ends, and another takes its place while the sender runs on.
TEST(SplitRestart, WhatTheReceiverBeforeTookIsNotMissing) {
  ASSERT_GE(UsableCpus().size(), 2u) << "two fabrics in one process need two CPUs";
  RingCable cable;
  const std::unique_ptr<Fabric> a = MustLoad(Half(0, 2, 0, 1, cable, true));
  FabricConfig behind = Half(3, 5, 1, 1, cable, false);
  std::unique_ptr<Fabric> b = MustLoad(behind);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  SourceConfig source;
  source.rows = {1};
  source.destination = SourceConfig::Destination::kRow;
  source.row = 6;
  source.packets = 200;
  ASSERT_TRUE(a->SetSources({source}).ok());
  EXPECT_EQ(WaitForDeliveries(*b, 200).trunk_in, 200u);
  ASSERT_TRUE(b->Unload().ok());
  behind.trunks[0].joins = true;
  b = MustLoad(behind);
  ASSERT_NE(b, nullptr);
  // Enough for numbers that are missing to be lost.
  source.packets = 1100;
  ASSERT_TRUE(a->SetSources({source}).ok());
  const Snapshot at_b = WaitForDeliveries(*b, 1100);
  EXPECT_EQ(at_b.trunk_in, 1100u);
  EXPECT_EQ(at_b.conservation.delivered, 1100u);
  EXPECT_EQ(DroppedBy(at_b, DropReason::kTrunkLost), 0u);
}

// What a trunk carries still says whether its ports are fixed: of two parallel links behind the
// trunk a circuit crosses its own, and everything else takes turns.
TEST(SplitDilated, ACircuitOfADilatedButterflyKeepsItsPortsAcrossATrunk) {
  ASSERT_GE(UsableCpus().size(), 2u) << "two fabrics in one process need two CPUs";
  RingCable cable;
  const auto half = [&cable](int stage, int cpu, bool sends) {
    FabricConfig config = Half(stage, stage, cpu, 1, cable, sends);
    config.network = {.kind = NetworkKind::kDilatedButterfly, .rows = 4, .multiplicity = 2};
    config.trunks[0].after_stage = 0;
    return config;
  };
  const std::unique_ptr<Fabric> a = MustLoad(half(0, 0, true));
  const std::unique_ptr<Fabric> b = MustLoad(half(1, 1, false));
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  const Network& network = a->network();
  // 01 by the second link of direction 1 to 11, and by the second of direction 0 to 10.
  ASSERT_TRUE(a->InstallCircuit(1, *TagOfPorts(network, {3, 1})).ok());
  SourceConfig circuit, free;
  circuit.rows = {1};
  circuit.packets = 101;
  free.rows = {3};
  free.destination = SourceConfig::Destination::kRow;
  free.row = 2;
  free.packets = 60;
  ASSERT_TRUE(a->SetSources({circuit, free}).ok());
  const Snapshot at_b = WaitForDeliveries(*b, 161);
  const Snapshot at_a = a->snapshot();
  EXPECT_EQ(at_b.conservation.delivered, 161u);
  const auto packets = [](const Snapshot& s, Row row, int port) {
    return s.links[row * 4 + static_cast<uint32_t>(port)].packets;
  };
  EXPECT_EQ(packets(at_a, 1, 3), 101u);
  EXPECT_EQ(packets(at_a, 1, 2), 0u);
  EXPECT_EQ(packets(at_a, 3, 2), 30u);
  EXPECT_EQ(packets(at_a, 3, 3), 30u);
  // Both go on from row 11 in direction 0.
  EXPECT_EQ(packets(at_b, 3, 0), 30u);
  EXPECT_EQ(packets(at_b, 3, 1), 101u + 30);
}

}  // namespace
}  // namespace bfly::dataplane
