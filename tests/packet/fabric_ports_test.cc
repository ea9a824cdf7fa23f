// SPDX-License-Identifier: Apache-2.0
// Frames of hosts through the stages, with every buffer accounted for.
#include <map>

#include "tests/packet/fabric_fixture.h"
#include "tests/packet/ring_port.h"

namespace bfly::dataplane {
namespace {

// Rows 0..3 of a butterfly of 4, each with a port of its own.
class FourHosts : public testing::Test {
 protected:
  FabricConfig Attach(FabricConfig config, const std::vector<int>& lcores = {}) {
    for (Row row = 0; row < 4; ++row) {
      config.ports.push_back(hosts_[row].Config({row}));
      config.ports.back().lcores = lcores;
    }
    return config;
  }

  // Sends `each` frames for every (input, output) pair and collects them where they should arrive.
  void ExpectFullExchange(const FabricConfig& config, uint32_t each) {
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    uint32_t sent = 0;
    uint32_t received = 0;
    std::map<std::pair<Row, Row>, uint32_t> next;  // (input, output) -> number expected next
    const auto collect = [&] {
      for (Row at = 0; at < 4; ++at) {
        while (rte_mbuf* frame = hosts_[at].Receive()) {
          ++received;
          const uint32_t id = FrameId(frame);
          const Row output = id & 3;
          const Row input = id >> 2 & 3;
          EXPECT_EQ(output, at);
          EXPECT_EQ(id >> 4, (next[{input, output}]++))
              << "order from " << input << " to " << output;
          rte_pktmbuf_free(frame);
        }
      }
    };
    for (uint32_t round = 0; round < each; ++round) {
      for (uint32_t pair = 0; pair < 16; ++pair) {
        const Row input = pair >> 2, output = pair & 3;
        rte_mbuf* frame = frames_.Make(input, output, round << 4 | pair);
        const int queue = static_cast<int>(output) % config.ports[input].queue_pairs;
        while (!hosts_[input].Send(frame, queue)) collect();
        ++sent;
      }
      collect();
    }
    const Snapshot s = WaitUntil(*fabric, [&](const Snapshot& now) {
      collect();
      return now.conservation.delivered + now.conservation.dropped == sent;
    });
    collect();
    EXPECT_EQ(received, sent);
    EXPECT_EQ(s.conservation.injected, sent);
    EXPECT_EQ(s.conservation.delivered, sent);
    EXPECT_EQ(s.conservation.in_flight, 0u);
    EXPECT_EQ(s.ports.size(), 4u);
    for (const PortCounters& port : s.ports) {
      EXPECT_EQ(port.rx_packets, sent / 4);
      EXPECT_EQ(port.tx_packets, sent / 4);
      EXPECT_EQ(port.tx_bytes, sent / 4 * 64);
    }
  }

  FrameSource frames_;  // outlives the ports, which hold its frames
  RingPort hosts_[4];
};

TEST_F(FourHosts, ExchangeFramesInOrderOnOneWorker) {
  ExpectFullExchange(Attach(OneWorker(NetworkKind::kButterfly, 4)), 200);
}

TEST_F(FourHosts, ExchangeFramesInOrderOverTwoWorkers) {
  ExpectFullExchange(
      Attach(Placed(NetworkKind::kTwoFoldButterfly, 4, {0, OtherCpu(), 0, OtherCpu()})), 200);
}

TEST_F(FourHosts, AWorkerOfItsOwnMayPollTheirQueues) {
  // The stages on the first CPU; all queues, in and out, on the second.
  ExpectFullExchange(Attach(OneWorker(NetworkKind::kButterfly, 4), {UsableCpus()[OtherCpu()]}),
                     200);
}

TEST(HostPorts, QueuesOfOnePortArePolledByTheWorkersNamed) {
  FrameSource frames;
  RingPort west(2), east(2);
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 2);
  config.ports = {west.Config({0}), east.Config({1})};
  for (HostPortConfig& port : config.ports) {
    port.lcores = {UsableCpus()[0], UsableCpus()[OtherCpu()]};
  }
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  for (uint32_t i = 0; i < 400; ++i) {
    ASSERT_TRUE(west.Send(frames.Make(0, 1, i), static_cast<int>(i % 2)));
  }
  const Snapshot s = WaitForDeliveries(*fabric, 400);
  EXPECT_EQ(s.conservation.delivered, 400u);
  EXPECT_EQ(east.left(), 400u);
  EXPECT_EQ(frames.in_use(), 400u);
}

TEST(HostPorts, AFrameForARowWithoutAPortIsDroppedThere) {
  FrameSource frames;
  RingPort host;
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 4);
  config.ports = {host.Config({0})};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  ASSERT_TRUE(host.Send(frames.Make(0, 3, 1)));
  const Snapshot s = WaitForDeliveries(*fabric, 1);
  EXPECT_EQ(DroppedBy(s, DropReason::kNoPortAtRow), 1u);
  EXPECT_EQ(frames.in_use(), 0u);
}

TEST(HostPorts, APortThatTakesNothingDoesNotHoldUpTheOthers) {
  FrameSource frames;
  RingPort from, stuck(1, 64), fine(1, 4096);
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 4);
  config.ports = {from.Config({0}), stuck.Config({1}), fine.Config({2})};
  const std::unique_ptr<Fabric> fabric = MustLoad(config);
  ASSERT_NE(fabric, nullptr);
  for (uint32_t i = 0; i < 2000; ++i) {
    rte_mbuf* frame = frames.Make(0, 1 + i % 2, i);
    while (!from.Send(frame)) {
    }
  }
  const Snapshot s = WaitForDeliveries(*fabric, 2000);
  EXPECT_EQ(fine.left(), 1000u);
  EXPECT_EQ(stuck.left(), 63u);  // a ring of 64 slots holds 63
  EXPECT_EQ(DroppedBy(s, DropReason::kPortFull), 1000u - 63);
  EXPECT_EQ(frames.in_use(), 1063u);
}

TEST(HostPorts, UnloadFreesEveryFrameInsideAndSaysSo) {
  FrameSource frames;
  {
    RingPort from, to(1, 64);  // what the small ring does not take waits inside
    FabricConfig config = Placed(NetworkKind::kButterfly, 2, {0});
    config.ports = {from.Config({0}), to.Config({1})};
    const std::unique_ptr<Fabric> fabric = MustLoad(config);
    ASSERT_NE(fabric, nullptr);
    for (uint32_t i = 0; i < 300; ++i) ASSERT_TRUE(from.Send(frames.Make(0, 1, i)));
    WaitUntil(*fabric, [](const Snapshot& s) { return s.conservation.injected == 300; });
    ASSERT_TRUE(fabric->Unload().ok());
    const Snapshot s = fabric->snapshot();
    ExpectConserved(s);
    EXPECT_EQ(s.conservation.in_flight, 0u);
    EXPECT_EQ(s.conservation.delivered, 63u);
    EXPECT_EQ(DroppedBy(s, DropReason::kUnloaded) + DroppedBy(s, DropReason::kPortFull), 237u);
    EXPECT_EQ(frames.in_use(), 63u);
    EXPECT_EQ(s.ports.size(), 2u) << "the last counters outlive the ports";
  }
  EXPECT_EQ(frames.in_use(), 0u);
}

TEST(HostPorts, ADeviceThatDoesNotExistIsNamedInTheError) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 2);
  HostPortConfig port;
  port.name = "h0";
  port.device = "net_no_such_driver0";
  port.rows = {0};
  config.ports = {port};
  const auto fabric = Fabric::Load(config);
  ASSERT_FALSE(fabric.ok());
  EXPECT_NE(fabric.status().message().find("ports[0].device"), std::string::npos)
      << fabric.status();
  // Nothing is left of it: the same lcore can be used at once.
  config.ports.clear();
  EXPECT_NE(MustLoad(config), nullptr);
}

}  // namespace
}  // namespace bfly::dataplane
