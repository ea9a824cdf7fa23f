// SPDX-License-Identifier: Apache-2.0
// Ports and trunks of several queue pairs over cards that take flow rules, and over cards that do
// not.
#include "dataplane/ports/flow_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/ports/ethdev.h"
#include "tests/packet/edge_trunk_fixture.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/flow_card.h"
#include "tests/packet/ring_port.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;

// A butterfly of 8 rows on two workers, rows 0-3 and 4-7, and one port of two queue pairs for all
// rows.
class CardPort : public testing::Test {
 protected:
  static constexpr uint64_t kEach = 10;  // frames for each of the 64 pairs of rows

  FabricConfig Config(const std::string& device) {
    FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
    config.placement.push_back(config.placement[0]);
    config.placement[0].rows = {0, 3};
    config.placement[1].rows = {4, 7};
    config.placement[1].lcore = UsableCpus()[OtherCpu()];
    HostPortConfig port = ring_.Config({0, 1, 2, 3, 4, 5, 6, 7});
    port.device = device;
    config.ports = {port};
    return config;
  }
  std::unique_ptr<Fabric> Load(const std::string& device) { return MustLoad(Config(device)); }

  // Sends kEach frames for every pair of rows at queue_of(frame), and waits until all came out. A
  // frame that has no queue fails the test at once: there is nothing to wait for.
  template <typename QueueOf>
  Snapshot Exchange(Fabric& fabric, QueueOf queue_of) {
    uint64_t received = 0;
    const auto collect = [&] {
      while (rte_mbuf* frame = ring_.Receive()) {
        ++received;
        rte_pktmbuf_free(frame);
      }
    };
    for (uint32_t i = 0; i < 64 * kEach; ++i) {
      rte_mbuf* const frame = frames_.Make(i % 8, i / 8 % 8, i);
      const int queue = queue_of(rte_pktmbuf_mtod(frame, const uint8_t*));
      if (queue < 0 || !ring_.Send(frame, queue)) {
        ADD_FAILURE() << "frame " << i << " at queue " << queue;
        rte_pktmbuf_free(frame);
        return fabric.snapshot();
      }
      collect();
    }
    Snapshot now = WaitUntil(fabric, [&](const Snapshot& s) {
      collect();
      return s.conservation.delivered == 64 * kEach && received == 64 * kEach;
    });
    EXPECT_EQ(received, 64 * kEach);
    ExpectConserved(now);
    return now;
  }

  void ExpectEveryFrameAtItsWorker(Fabric& fabric) {
    const PortStatus status = fabric.port_status().at(0);
    EXPECT_EQ(status.steering, Steering::kFlowRules);
    EXPECT_EQ(status.queue_pairs, 2);
    EXPECT_THAT(status.lcores, ElementsAre(UsableCpus()[0], UsableCpus()[OtherCpu()]));
    EXPECT_EQ(status.rows_handed_over, 0);
    const Snapshot s = Exchange(fabric, QueueByCardRules);
    // Four rows' frames come to each worker. Stage 0 sets the leading bit of the row, so half of
    // them go to the other worker, and nothing changes its worker after that.
    ASSERT_EQ(s.workers.size(), 2u);
    for (const WorkerCounters& worker : s.workers) {
      EXPECT_EQ(worker.ledger.injected, 32 * kEach);
      EXPECT_EQ(worker.ledger.taken_over, 16 * kEach);
      EXPECT_EQ(worker.ledger.delivered, 32 * kEach);
    }
    for (const QueueCounters& queue : s.ports.at(0).queues) {
      EXPECT_EQ(queue.rx_packets, 32 * kEach);
      EXPECT_EQ(queue.tx_packets, 32 * kEach);
    }
  }

  FrameSource frames_;  // outlives the port, which holds its frames
  RingPort ring_{2};
};

TEST_F(CardPort, RulesWithMasksBringEveryFrameToTheWorkerOfItsRow) {
  SetCards(CardTakes::kMasks);
  const std::unique_ptr<Fabric> fabric = Load(AsCard(ring_.Config({0}).device));
  ASSERT_NE(fabric, nullptr);
  EXPECT_EQ(CardRules(), 2u);
  ExpectEveryFrameAtItsWorker(*fabric);
  ASSERT_TRUE(fabric->Unload().ok());
  EXPECT_EQ(CardRules(), 0u);
}

TEST_F(CardPort, ACardThatComparesWholeAddressesHasARuleForEachRow) {
  SetCards(CardTakes::kWholeAddresses);
  const std::unique_ptr<Fabric> fabric = Load(AsCard(ring_.Config({0}).device));
  ASSERT_NE(fabric, nullptr);
  EXPECT_EQ(CardRules(), 8u);
  ExpectEveryFrameAtItsWorker(*fabric);
}

TEST_F(CardPort, ACardThatHasNoRoomForAllRulesHasNoneAndWorkersHandFramesOver) {
  SetCards(CardTakes::kWholeAddresses, 7);
  const std::unique_ptr<Fabric> fabric = Load(AsCard(ring_.Config({0}).device));
  ASSERT_NE(fabric, nullptr);
  EXPECT_EQ(CardRules(), 0u);
  EXPECT_EQ(fabric->port_status().at(0).steering, Steering::kSoftware);
  // The last bit of the input row chooses the queue, so half of the frames come to the wrong
  // worker. Each worker takes them over, and half of its own input from the other one behind stage
  // 0.
  const Snapshot s = Exchange(*fabric, [](const uint8_t* frame) { return frame[11] & 1; });
  for (const WorkerCounters& worker : s.workers) {
    EXPECT_EQ(worker.ledger.injected, 32 * kEach);
    EXPECT_EQ(worker.ledger.taken_over, (16 + 16) * kEach);
    EXPECT_EQ(worker.ledger.delivered, 32 * kEach);
  }
}

TEST_F(CardPort, RowsWhoseWorkerHasNoQueuePairAreHandedOver) {
  SetCards(CardTakes::kMasks);
  FabricConfig config = Config(AsCard(ring_.Config({0}).device));
  config.placement.push_back(config.placement[1]);
  config.placement[1].rows = {4, 4};
  config.placement[2].rows = {5, 7};
  config.placement[2].lcore = Lcores()[2].number;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const PortStatus status = fabric->port_status().at(0);
  EXPECT_EQ(status.steering, Steering::kFlowRules);
  EXPECT_THAT(status.lcores, ElementsAre(UsableCpus()[0], UsableCpus()[OtherCpu()]));
  EXPECT_EQ(status.rows_handed_over, 3);
  const Snapshot s = Exchange(*fabric, QueueByCardRules);
  ASSERT_EQ(s.workers.size(), 3u);
  EXPECT_EQ(s.workers[0].ledger.injected, 32 * kEach);
  EXPECT_EQ(s.workers[1].ledger.injected, 32 * kEach);
  EXPECT_EQ(s.workers[2].ledger.injected, 0u);
}

TEST_F(CardPort, ADeviceThatSpreadsFlowsIsSaidToDoSo) {
  SetCards(CardTakes::kNoRules);
  const std::unique_ptr<Fabric> fabric = Load("net_null_spreads,no-rx=1");
  ASSERT_NE(fabric, nullptr);
  EXPECT_EQ(fabric->port_status().at(0).steering, Steering::kRss);
}

// net_null has frames at every queue. A queue counts them whatever is in them.
TEST_F(CardPort, EachOfManyQueuePairsIsPolled) {
  SetCards(CardTakes::kNoRules);
  FabricConfig config = Config("net_null_many,size=64");
  config.ports[0].queue_pairs = 64;
  config.mbufs = 8191;
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  const PortStatus status = fabric->port_status().at(0);
  EXPECT_EQ(status.queue_pairs, 64);
  EXPECT_THAT(status.lcores, ElementsAre(UsableCpus()[0], UsableCpus()[OtherCpu()]));
  WaitUntil(*fabric, [](const Snapshot& s) {
    const std::vector<QueueCounters>& queues = s.ports.at(0).queues;
    const auto received = [](const QueueCounters& queue) { return queue.rx_packets > 0; };
    return queues.size() == 64 && std::all_of(queues.begin(), queues.end(), received);
  });
}

TEST_F(CardPort, WhereTheRowSaysNothingOfTheWorkerThereAreNoRules) {
  SetCards(CardTakes::kMasks);
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 8);
  config.ports = {ring_.Config({0, 1, 2, 3, 4, 5, 6, 7})};
  config.ports[0].device = AsCard(config.ports[0].device);
  std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  EXPECT_EQ(CardRules(), 0u);
  EXPECT_EQ(fabric->port_status().at(0).steering, Steering::kNone);
  EXPECT_THAT(fabric->port_status().at(0).lcores, ElementsAre(UsableCpus()[0]));
  // A second lcore only polls, and hands over all that it receives.
  fabric.reset();
  config.ports[0].lcores = {UsableCpus()[0], UsableCpus()[OtherCpu()]};
  fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  EXPECT_EQ(CardRules(), 0u);
  EXPECT_EQ(fabric->port_status().at(0).steering, Steering::kSoftware);
}

TEST_F(CardPort, ADeviceThatNeedsItsRulesIsNotOpenedWithoutThem) {
  SetCards(CardTakes::kNoRules);
  FabricConfig config;
  config.mbufs = 4095;
  const auto pool = MakeFramePool("card_port", config);
  ASSERT_TRUE(pool.ok()) << pool.status();
  const auto device = Ethdev::Open({.field = "ports[0].device",
                                    .device = AsCard(ring_.Config({0}).device),
                                    .queue_pairs = 2,
                                    .pool = pool->get(),
                                    .edge = {},
                                    .queue_rules = {RulesOfTrunk(2)},
                                    .needs_queue_rules = true});
  EXPECT_EQ(device.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(device.status().message()), testing::HasSubstr("flow rules"));
}

class CardTrunk : public TrunkTest {
 protected:
  // Workers 5 and 2 have rows 0-7 and 8-15 behind the trunk.
  void BuildOverCard(CardTakes takes) {
    SetCards(takes);
    worker_of_ = [](Row row) { return row < 8 ? 5 : 2; };
    receiver_over_card_ = true;
    Build(4);
  }
  // A packet at every row, which the card puts where its rules say, or at queue 0.
  void SendToAllRows() {
    for (Row row = 0; row < 16; ++row) Send(Synthetic(HalfWay(0), row, 64));
    for (int q = 0; q < 4; ++q) {
      while (rte_mbuf* frame = near_->TakeMbuf(q)) {
        const int at = QueueByCardRules(rte_pktmbuf_mtod(frame, const uint8_t*));
        ASSERT_NE(at, -2);
        far_->SendMbuf(frame, std::max(at, 0));
      }
    }
  }
  std::vector<Row> RowsOf(size_t way) {
    Descriptor burst[kBurst];
    const int n = receiver_->ways_in()[way].inlet->Receive(burst, kBurst, far_ledger_);
    std::vector<Row> rows;
    for (int i = 0; i < n; ++i) rows.push_back(burst[i].row);
    return rows;
  }
};

TEST_F(CardTrunk, FlowRulesBringEachFrameToTheWorkerOfItsRow) {
  BuildOverCard(CardTakes::kWholeAddresses);
  EXPECT_EQ(CardRules(), 4u);
  EXPECT_EQ(receiver_->steering(), Steering::kFlowRules);
  EXPECT_EQ(sender_->steering(), Steering::kNone);
  ASSERT_EQ(receiver_->ways_in().size(), 2u);
  EXPECT_EQ(receiver_->ways_in()[0].worker, 5);
  EXPECT_EQ(receiver_->ways_in()[1].worker, 2);
  SendToAllRows();
  EXPECT_THAT(RowsOf(1), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(RowsOf(0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(far_ledger_.dropped_total(), 0u);
}

TEST_F(CardTrunk, WithoutThemOneWorkerReceivesAll) {
  BuildOverCard(CardTakes::kNoRules);
  EXPECT_EQ(receiver_->steering(), Steering::kSoftware);
  ASSERT_EQ(receiver_->ways_in().size(), 1u);
  SendToAllRows();
  EXPECT_EQ(RowsOf(0).size(), 16u);
  EXPECT_EQ(far_ledger_.dropped_total(), 0u);
}

}  // namespace
}  // namespace bfly::dataplane
