// SPDX-License-Identifier: Apache-2.0
// Host ports that come and go while a fabric runs: what their rows notice, and that nobody else
// notices anything. All counts are counted by hand.
#include <rte_mempool.h>

#include <atomic>
#include <cstring>
#include <map>
#include <thread>

#include "dataplane/fabric/loaded_fabric.h"
#include "tests/packet/fabric_fixture.h"
#include "tests/packet/ring_port.h"

namespace bfly::dataplane {
namespace {

using testing::HasSubstr;

// A host at row 0 sends to a host at row 1 all the time, and checks what arrives, until Stop.
class Conversation {
 public:
  Conversation(FrameSource& frames, RingPort& from, RingPort& to)
      : frames_(frames), from_(from), to_(to), thread_([this] { Run(); }) {}
  ~Conversation() { Stop(); }

  // Ends it when all that was sent has arrived, and returns how many frames that were.
  uint32_t Stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return sent_;
  }

 private:
  void Run() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    while (!stop_ || received_ < sent_) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << sent_ - received_ << " frames of others did not arrive";
        return;
      }
      // Few are on the way at once, so no ring is ever full.
      if (!stop_ && sent_ - received_ < 64) sent_ += from_.Send(frames_.Make(0, 1, sent_)) ? 1 : 0;
      while (rte_mbuf* frame = to_.Receive()) {
        EXPECT_EQ(FrameId(frame), received_++) << "the frames of others are in order";
        rte_pktmbuf_free(frame);
      }
    }
  }

  FrameSource& frames_;
  RingPort& from_;
  RingPort& to_;
  uint32_t sent_ = 0, received_ = 0;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class LivePortsTest : public testing::Test {
 protected:
  // Hosts 0 and 1 are there from the beginning.
  void Load(FabricConfig config) {
    config.spare_queue_pairs = 4;
    for (Row row = 0; row < 2; ++row) config.ports.push_back(hosts_[row].Config({row}));
    fabric_ = MustLoad(config);
    ASSERT_NE(fabric_, nullptr);
  }
  void Send(int host, Row to, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      // Conversation uses the source on another thread, so these have one of their own.
      ASSERT_TRUE(hosts_[host].Send(mine_.Make(static_cast<Row>(host), to, i)));
    }
  }
  uint32_t Receive(int host) {
    uint32_t count = 0;
    while (rte_mbuf* frame = hosts_[host].Receive()) {
      rte_pktmbuf_free(frame);
      ++count;
    }
    return count;
  }
  void ExpectReceived(int host, uint32_t count) {
    uint32_t received = 0;
    WaitUntil(*fabric_, [&](const Snapshot&) { return (received += Receive(host)) >= count; });
    EXPECT_EQ(received, count);
  }
  void ExpectDropped(DropReason reason, uint64_t count) {
    const Snapshot s =
        WaitUntil(*fabric_, [&](const Snapshot& now) { return DroppedBy(now, reason) >= count; });
    EXPECT_EQ(DroppedBy(s, reason), count);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const PortCounters& port : fabric_->snapshot().ports) names.push_back(port.name);
    return names;
  }
  void ExpectRefused(const HostPortConfig& port, absl::StatusCode code, const std::string& why) {
    const std::vector<std::string> before = Names();
    const unsigned devices = rte_eth_dev_count_total();
    const absl::Status status = fabric_->AddPort(port);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_EQ(Names(), before);
    EXPECT_EQ(rte_eth_dev_count_total(), devices);
  }

  FrameSource frames_, mine_;  // outlive the ports, which hold their frames
  RingPort hosts_[4];
  std::unique_ptr<Fabric> fabric_;
};

TEST_F(LivePortsTest, ComeAndGoUnderTheTrafficOfOthers) {
  ASSERT_NO_FATAL_FAILURE(Load(OneWorker(NetworkKind::kButterfly, 4)));
  Conversation others(frames_, hosts_[0], hosts_[1]);
  // Nobody is at row 2 yet, and its device is nobody's.
  constexpr uint32_t kRounds = 5;
  for (uint32_t round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(fabric_->AddPort(hosts_[2].Config({2})).ok());
    Send(2, 2, 30);  // to itself: in and out by the new port
    ExpectReceived(2, 30);
    ASSERT_TRUE(fabric_->AddPort(hosts_[3].Config({3})).ok());
    Send(2, 3, 20);
    ExpectReceived(3, 20);
    ASSERT_TRUE(fabric_->RemovePort(hosts_[3].Config({}).name).ok());
    Send(2, 3, 10);
    ExpectDropped(DropReason::kNoPortAtRow, 10 * (round + 1));
    ASSERT_TRUE(fabric_->RemovePort(hosts_[2].Config({}).name).ok());
    EXPECT_EQ(Names().size(), 2u);
  }
  const uint64_t sent_by_others = others.Stop();
  const Snapshot s = fabric_->snapshot();
  ExpectConserved(s);
  EXPECT_EQ(s.conservation.injected, sent_by_others + 60 * kRounds);
  EXPECT_EQ(s.conservation.delivered, sent_by_others + 50 * kRounds);
  EXPECT_EQ(s.conservation.dropped, 10 * kRounds);
  EXPECT_EQ(s.conservation.in_flight, 0u);
  // The counters of removed ports stay.
  EXPECT_EQ(s.removed_ports.rx_packets, 60 * kRounds);
  EXPECT_EQ(s.removed_ports.tx_packets, 50 * kRounds);
  EXPECT_EQ(s.removed_ports.tx_bytes, 50 * kRounds * 64);
  EXPECT_EQ(s.ports[0].rx_packets, sent_by_others);
  EXPECT_EQ(s.ports[1].tx_packets, sent_by_others);
}

TEST_F(LivePortsTest, OfTwoWorkersComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(Load(Halves(NetworkKind::kButterfly, 4)));
  Conversation others(frames_, hosts_[0], hosts_[1]);
  for (int round = 0; round < 4; ++round) {
    // Row 2 is of the other worker.
    ASSERT_TRUE(fabric_->AddPort(hosts_[2].Config({2})).ok());
    Send(2, 2, 30);
    ExpectReceived(2, 30);
    ASSERT_TRUE(fabric_->RemovePort(hosts_[2].Config({}).name).ok());
  }
  const uint64_t sent_by_others = others.Stop();
  const Snapshot s = fabric_->snapshot();
  EXPECT_EQ(s.conservation.delivered, sent_by_others + 120);
  EXPECT_EQ(s.conservation.dropped, 0u);
  EXPECT_EQ(s.removed_ports.rx_packets, 120u);
}

TEST_F(LivePortsTest, OfAFileAreRemovedUnderTheirOwnTraffic) {
  ASSERT_NO_FATAL_FAILURE(Load(OneWorker(NetworkKind::kButterfly, 4)));
  const std::string name = hosts_[1].Config({}).name;
  uint64_t sent = 0, received = 0;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 200; ++i) sent += hosts_[0].Send(mine_.Make(0, 1, 0)) ? 1 : 0;
    ASSERT_TRUE(fabric_->RemovePort(name).ok());
    received += Receive(1);
    ASSERT_TRUE(fabric_->AddPort(hosts_[1].Config({1})).ok());
    received += Receive(1);
    const Snapshot s = WaitForDeliveries(*fabric_, sent);
    received += Receive(1);
    EXPECT_EQ(s.conservation.injected, sent);
    EXPECT_EQ(s.conservation.delivered, received);
    EXPECT_EQ(s.conservation.dropped, sent - received);
    EXPECT_EQ(DroppedBy(s, DropReason::kNoPortAtRow) + DroppedBy(s, DropReason::kPortRemoved),
              sent - received);
    EXPECT_EQ(mine_.in_use(), 0u);
  }
}

// What a full device does not take waits in the port. Frames that waited too long are dropped as
// port_full, which depends on the machine's haste; the rest goes with the port.
TEST_F(LivePortsTest, TakeWhatWaitsForThemAlong) {
  RingPort stuck(1, 64);  // holds 63
  ASSERT_NO_FATAL_FAILURE(Load(OneWorker(NetworkKind::kButterfly, 4)));
  ASSERT_TRUE(fabric_->AddPort(stuck.Config({2})).ok());
  Send(0, 2, 300);
  WaitUntil(*fabric_, [](const Snapshot& s) { return s.conservation.injected == 300; });
  ASSERT_TRUE(fabric_->RemovePort(stuck.Config({}).name).ok());
  const Snapshot s = fabric_->snapshot();
  ExpectConserved(s);
  EXPECT_EQ(s.conservation.in_flight, 0u);
  EXPECT_EQ(s.conservation.delivered, 63u);
  EXPECT_EQ(DroppedBy(s, DropReason::kPortRemoved) + DroppedBy(s, DropReason::kPortFull), 237u);
  EXPECT_EQ(s.removed_ports.drops[static_cast<int>(DropReason::kPortRemoved)],
            DroppedBy(s, DropReason::kPortRemoved));
  EXPECT_EQ(mine_.in_use(), 63u);
}

TEST_F(LivePortsTest, GetBroadcastsFromTheirFirstToTheirLastMoment) {
  ASSERT_NO_FATAL_FAILURE(Load(OneWorker(NetworkKind::kButterfly, 4)));
  const auto broadcast = [&] {
    rte_mbuf* const frame = mine_.Make(0, 0, 0);
    std::memset(rte_pktmbuf_mtod(frame, uint8_t*), 0xff, 6);
    ASSERT_TRUE(hosts_[0].Send(frame));
  };
  broadcast();
  ExpectReceived(1, 1);
  ASSERT_TRUE(fabric_->AddPort(hosts_[2].Config({2})).ok());
  broadcast();
  ExpectReceived(1, 1);
  ExpectReceived(2, 1);
  ASSERT_TRUE(fabric_->SetRowsElsewhere({3}).ok());
  broadcast();  // a copy goes to row 3, where this data plane has no port
  ExpectReceived(1, 1);
  ExpectReceived(2, 1);
  ExpectDropped(DropReason::kNoPortAtRow, 1);
  ASSERT_TRUE(fabric_->SetRowsElsewhere({}).ok());
  ASSERT_TRUE(fabric_->RemovePort(hosts_[2].Config({}).name).ok());
  broadcast();
  ExpectReceived(1, 1);
  const Snapshot s = fabric_->snapshot();
  EXPECT_EQ(s.conservation.injected, 1 + 2 + 3 + 1u);
  EXPECT_EQ(s.conservation.delivered, 1 + 2 + 2 + 1u);
}

TEST_F(LivePortsTest, AreRefusedWithTheFieldNamedAndNothingChanges) {
  ASSERT_NO_FATAL_FAILURE(Load(OneWorker(NetworkKind::kButterfly, 4)));
  Conversation others(frames_, hosts_[0], hosts_[1]);
  using Code = absl::StatusCode;
  const HostPortConfig good = hosts_[2].Config({2});
  const auto with = [&](const std::function<void(HostPortConfig&)>& change) {
    HostPortConfig port = good;
    change(port);
    return port;
  };
  ExpectRefused(with([](auto& p) { p.rows = {1}; }), Code::kInvalidArgument,
                "ports[2].rows: row 1 is attached twice, also to ports[1]");
  ExpectRefused(with([](auto& p) { p.rows = {4}; }), Code::kInvalidArgument,
                "ports[2].rows: 4 is outside 0..3");
  ExpectRefused(with([](auto& p) { p.rows = {}; }), Code::kInvalidArgument, "ports[2].rows: empty");
  ExpectRefused(with([&](auto& p) { p.name = hosts_[0].Config({}).name; }), Code::kInvalidArgument,
                "is also ports[0]");
  ExpectRefused(with([&](auto& p) { p.device = hosts_[0].Config({}).device; }),
                Code::kInvalidArgument, "is also of ports[0]");
  ExpectRefused(with([](auto& p) { p.queue_pairs = 65; }), Code::kInvalidArgument,
                "ports[2].queue_pairs: 65 is outside 1..64");
  ExpectRefused(with([](auto& p) { p.queue_pairs = 5; }), Code::kFailedPrecondition,
                "ports[2].queue_pairs: with this port there are 7 queue pairs");
  ExpectRefused(with([](auto& p) { p.lcores = {1023}; }), Code::kInvalidArgument,
                "ports[2].lcores[0]: 1023");
  ExpectRefused(with([](auto& p) { p.lcores = {UsableCpus()[OtherCpu()]}; }),
                Code::kFailedPrecondition, "runs no worker of this fabric");
  ExpectRefused(with([](auto& p) { p.device = "net_af_xdp,iface=lo"; }), Code::kFailedPrecondition,
                "ports[2].device: the buffers of this fabric are not laid out for net_af_xdp");
  ExpectRefused(
      with([](auto& p) { p.device = "net_pcap0,rx_pcap=/no/such/file,tx_pcap=/no/such"; }),
      Code::kUnavailable, "ports[2].device: cannot open");
  ExpectRefused(with([](auto& p) { p.device = "net_memif9,role=server,id=0x3"; }),
                Code::kInvalidArgument, "ports[2].device: id \"0x3\" is not a whole number");
  // The ring of the test has one queue pair.
  ExpectRefused(with([](auto& p) { p.queue_pairs = 2; }), Code::kInvalidArgument,
                "ports[2].device: queue_pairs is 2");
  EXPECT_EQ(fabric_->RemovePort("nobody").code(), Code::kNotFound);
  // After all this the port can be added.
  EXPECT_TRUE(fabric_->AddPort(good).ok());
  Send(2, 2, 10);
  ExpectReceived(2, 10);
  others.Stop();
  EXPECT_EQ(fabric_->snapshot().conservation.dropped, 0u);
  ASSERT_TRUE(fabric_->Unload().ok());
  EXPECT_EQ(fabric_->AddPort(hosts_[3].Config({3})).code(), Code::kFailedPrecondition);
  EXPECT_EQ(fabric_->RemovePort(good.name).code(), Code::kFailedPrecondition);
}

TEST_F(LivePortsTest, NeedAWayBetweenWorkersThatTheFabricWasLoadedWith) {
  FabricConfig config = Halves(NetworkKind::kButterfly, 8);
  RingPort wide(2);
  config.ports.push_back(wide.Config({3, 4}));  // a row of each worker
  ASSERT_NO_FATAL_FAILURE(Load(config));
  const HostPortConfig other = [&] {
    HostPortConfig port = hosts_[2].Config({2, 5});
    port.queue_pairs = 1;
    return port;
  }();
  ExpectRefused(other, absl::StatusCode::kFailedPrecondition, "ports[3].rows: lcore");
  // The same rows as before: the ways are there.
  ASSERT_TRUE(fabric_->RemovePort(wide.Config({}).name).ok());
  ASSERT_TRUE(fabric_->AddPort(wide.Config({3, 4})).ok());
  for (uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(wide.Send(mine_.Make(3 + i % 2, 4 - i % 2, i), static_cast<int>(i / 2 % 2)));
  }
  const Snapshot s = WaitForDeliveries(*fabric_, 100);
  EXPECT_EQ(s.conservation.delivered, 100u);
  EXPECT_EQ(wide.left(), 100u);
}

TEST_F(LivePortsTest, CanBeTheFirstOfAFabric) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 4);
  config.spare_queue_pairs = 1;
  fabric_ = MustLoad(config);
  ASSERT_NE(fabric_, nullptr);
  for (uint32_t round = 0; round < 3; ++round) {
    ASSERT_TRUE(fabric_->AddPort(hosts_[0].Config({0})).ok());
    ASSERT_TRUE(fabric_->AddPort(hosts_[1].Config({1})).ok());
    Send(0, 1, 50);
    ExpectReceived(1, 50);
    EXPECT_EQ(fabric_->port_status().size(), 2u);
    ASSERT_TRUE(fabric_->RemovePort(hosts_[0].Config({}).name).ok());
    ASSERT_TRUE(fabric_->RemovePort(hosts_[1].Config({}).name).ok());
    EXPECT_TRUE(fabric_->port_status().empty());
  }
}

TEST_F(LivePortsTest, LeaveNoBuffersBehindIfTheFirstDoesNotOpen) {
  FabricConfig config = OneWorker(NetworkKind::kButterfly, 4);
  config.mbufs = 2047;
  fabric_ = MustLoad(config);
  ASSERT_NE(fabric_, nullptr);
  const auto pools = [] {
    unsigned count = 0;
    rte_mempool_walk([](rte_mempool*, void* counted) { ++*static_cast<unsigned*>(counted); },
                     &count);
    return count;
  };
  const unsigned before = pools();
  HostPortConfig port = hosts_[0].Config({0});
  port.device = "net_pcap0,rx_pcap=/no/such/file,tx_pcap=/no/such";
  ExpectRefused(port, absl::StatusCode::kUnavailable, "ports[0].device: cannot open");
  EXPECT_EQ(pools(), before);
  // The next port is the first again: AF_XDP is not refused for the buffers of the port before.
  port.device = "net_af_xdp,iface=nosuch";
  ExpectRefused(port, absl::StatusCode::kInvalidArgument,
                "this network namespace has no interface 'nosuch'");
  EXPECT_EQ(pools(), before);
  ASSERT_TRUE(fabric_->AddPort(hosts_[0].Config({0})).ok());
  Send(0, 0, 50);
  ExpectReceived(0, 50);
}

TEST_F(LivePortsTest, GiveTheirDevicesAndBuffersBack) {
  ASSERT_NO_FATAL_FAILURE(Load(OneWorker(NetworkKind::kButterfly, 4)));
  const unsigned devices = rte_eth_dev_count_total();
  const auto& loaded = dynamic_cast<const LoadedFabric&>(*fabric_);
  const unsigned in_use = rte_mempool_in_use_count(loaded.frame_pool());
  for (int round = 0; round < 5; ++round) {
    HostPortConfig port = hosts_[2].Config({2, 3});
    port.device = "net_null_live,size=64";  // receives zeros without end
    port.queue_pairs = 2;
    ASSERT_TRUE(fabric_->AddPort(port).ok());
    EXPECT_EQ(rte_eth_dev_count_total(), devices + 1);
    const uint64_t before = fabric_->snapshot().conservation.injected;
    WaitUntil(*fabric_, [&](const Snapshot& s) { return s.conservation.injected > before + 1000; });
    ASSERT_TRUE(fabric_->RemovePort(port.name).ok());
    EXPECT_EQ(rte_eth_dev_count_total(), devices);
  }
  EXPECT_LE(rte_mempool_in_use_count(loaded.frame_pool()), in_use);
  const Snapshot s = fabric_->snapshot();
  EXPECT_EQ(s.conservation.injected, s.removed_ports.rx_packets);
}

TEST_F(LivePortsTest, AreTappedByNameWhenTheyAreThere) {
  ASSERT_NO_FATAL_FAILURE(Load(OneWorker(NetworkKind::kButterfly, 4)));
  const std::string name = hosts_[2].Config({}).name;
  TapConfig config;
  config.ports = {name};
  absl::StatusOr<std::shared_ptr<Tap>> tap = fabric_->taps()->Start(config);
  ASSERT_TRUE(tap.ok());
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(fabric_->AddPort(hosts_[3].Config({3})).ok());
    ASSERT_TRUE(fabric_->AddPort(hosts_[2].Config({2})).ok());
    Send(2, 3, 5);
    ExpectReceived(3, 5);
    Send(3, 2, 7);
    ExpectReceived(2, 7);
    ASSERT_TRUE(fabric_->RemovePort(hosts_[3].Config({}).name).ok());
    ASSERT_TRUE(fabric_->RemovePort(name).ok());
  }
  std::map<TapPlace, int> copies;
  (*tap)->Take(1000, [&](const TappedFrame& frame, std::span<const uint8_t>) {
    ++copies[frame.place];
    EXPECT_EQ(fabric_->PortName(frame.number), name);
  });
  EXPECT_EQ(copies[TapPlace::kPortIn], 10);
  EXPECT_EQ(copies[TapPlace::kPortOut], 14);
  fabric_->taps()->Stop(*tap);
}

}  // namespace
}  // namespace bfly::dataplane
