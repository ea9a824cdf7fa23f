// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <array>
#include <map>
#include <random>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/trunk.h"
#include "tests/packet/frame_bytes.h"
#include "tests/packet/ring_peer.h"

namespace bfly::dataplane {
namespace {

constexpr int kBoundary = 1;  // of a butterfly of 16 rows: two hops done, two to go

// A tag with the two hops to go left.
WireTag HalfWay(uint64_t bits) { return ToWire(bits, 2); }

// Both ends of a trunk; the test is the cable between their devices.
class TrunkTest : public testing::Test {
 protected:
  void Build(int queues = 1, unsigned ring = 1024) {
    auto network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 16});
    ASSERT_TRUE(network.ok());
    FabricConfig config;
    config.mbufs = 4095;
    auto pool = MakeFramePool("trunk_test", config);
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
    near_ = std::make_unique<RingPeer>("near", ring, queues);
    far_ = std::make_unique<RingPeer>("far", ring, queues);
    queues_ = queues;
    const auto open = [&](bool sends, const RingPeer& peer) {
      TrunkConfig trunk;
      trunk.name = "t";
      trunk.device = peer.device();
      trunk.after_stage = kBoundary;
      trunk.sends = sends;
      trunk.queue_pairs = queues;
      auto opened = Trunk::Open("trunks[0]", trunk, *network, 1518, pool_.get(), nullptr);
      EXPECT_TRUE(opened.ok()) << opened.status();
      return opened.ok() ? *std::move(opened) : nullptr;
    };
    sender_ = open(true, *near_);
    receiver_ = open(false, *far_);
    ASSERT_TRUE(sender_ && receiver_);
  }

  ~TrunkTest() override {
    for (Descriptor& packet : arrived_) rte_pktmbuf_free(packet.mbuf);
    sender_.reset();
    receiver_.reset();
    near_.reset();
    far_.reset();
    if (pool_ != nullptr) {
      EXPECT_EQ(rte_mempool_avail_count(pool_.get()), pool_->size);
    }
  }

  Descriptor Packet(WireTag tag, Row row, const Bytes& frame) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_.get());
    EXPECT_NE(mbuf, nullptr);
    std::copy(frame.begin(), frame.end(),
              rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())));
    return {.tag = tag,
            .mbuf = mbuf,
            .time = rte_rdtsc(),
            .row = row,
            .bytes = static_cast<uint16_t>(frame.size()),
            .input = 7};
  }
  Descriptor Synthetic(WireTag tag, Row row, uint16_t bytes) {
    return {
        .tag = tag, .mbuf = nullptr, .time = rte_rdtsc(), .row = row, .bytes = bytes, .input = 7};
  }

  // Offers one packet; false if the trunk does not take it.
  bool Offer(const Descriptor& packet) {
    return sender_->outlet()->Send(&packet, 1, near_ledger_) == 1;
  }
  void Send(const Descriptor& packet) {
    ASSERT_TRUE(Offer(packet));
    sender_->outlet()->Flush(near_ledger_);
  }

  // Carries what the sender gave its device; `keep` says of the n-th frame whether the cable passes
  // it on.
  template <typename Keep>
  void Carry(Keep keep) {
    for (int q = 0; q < queues_; ++q) {
      while (rte_mbuf* frame = near_->TakeMbuf(q)) {
        if (keep(carried_++, frame)) {
          far_->SendMbuf(frame, q);
        } else {
          rte_pktmbuf_free(frame);
        }
      }
    }
  }
  void CarryAll() {
    Carry([](int, rte_mbuf*) { return true; });
  }
  void Receive() {
    Descriptor burst[kBurst];
    uint64_t before;
    do {
      before = receiver_->counters().rx_packets;
      const int n = receiver_->inlet()->Receive(burst, kBurst, far_ledger_);
      arrived_.insert(arrived_.end(), burst, burst + n);
    } while (receiver_->counters().rx_packets != before);
    // The receiver's account: what entered is held by the test or was dropped.
    EXPECT_EQ(far_ledger_.injected + far_ledger_.taken_over,
              arrived_.size() + far_ledger_.dropped_total());
  }
  uint64_t dropped(DropReason reason) const {
    return far_ledger_.dropped[static_cast<int>(reason)];
  }
  static Bytes BytesOf(const Descriptor& packet) {
    const uint8_t* bytes = rte_pktmbuf_mtod(packet.mbuf, const uint8_t*);
    return Bytes(bytes, bytes + packet.mbuf->data_len);
  }

  FramePool pool_;
  std::unique_ptr<RingPeer> near_, far_;
  std::unique_ptr<Trunk> sender_, receiver_;
  Ledger near_ledger_, far_ledger_;
  std::vector<Descriptor> arrived_;
  int queues_ = 1;
  int carried_ = 0;
};

TEST_F(TrunkTest, APacketArrivesAsItLeft) {
  Build();
  const Bytes frames[] = {Pattern(14), Pattern(60), Pattern(1518)};
  for (const Bytes& frame : frames) Send(Packet(HalfWay(0b10), 13, frame));
  CarryAll();
  Receive();
  ASSERT_EQ(arrived_.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(arrived_[i].tag, HalfWay(0b10));
    EXPECT_EQ(arrived_[i].row, 13u);
    EXPECT_EQ(arrived_[i].input, 7u);
    EXPECT_EQ(arrived_[i].bytes, frames[i].size());
    EXPECT_EQ(BytesOf(arrived_[i]), frames[i]);
  }
  EXPECT_EQ(near_ledger_.handed_on, 3u);
  EXPECT_EQ(far_ledger_.taken_over, 3u);
  EXPECT_EQ(receiver_->counters().rx_bytes, 3 * 46 + 14 + 60 + 1518u);
  EXPECT_EQ(sender_->counters().tx_bytes, receiver_->counters().rx_bytes);
}

TEST_F(TrunkTest, ASyntheticPacketCrossesWithoutAFrame) {
  Build();
  Send(Synthetic(HalfWay(0b01), 2, 9000));
  CarryAll();
  Receive();
  ASSERT_EQ(arrived_.size(), 1u);
  EXPECT_EQ(arrived_[0].mbuf, nullptr);
  EXPECT_EQ(arrived_[0].bytes, 9000u);
  EXPECT_EQ(arrived_[0].row, 2u);
  EXPECT_EQ(arrived_[0].tag, HalfWay(0b01));
}

TEST_F(TrunkTest, PriorityIsCarriedWithAndWithoutAFrame) {
  Build();
  for (const unsigned priority : {0u, 1u, 6u, 7u}) {
    Descriptor framed = Packet(HalfWay(0b10), 5, Pattern(64));
    framed.priority = priority;
    Send(framed);
    Descriptor synthetic = Synthetic(HalfWay(0b10), 5, 64);
    synthetic.priority = priority;
    Send(synthetic);
  }
  CarryAll();
  Receive();
  ASSERT_EQ(arrived_.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(arrived_[i].priority, std::to_array({0u, 1u, 6u, 7u})[i / 2]);
  }
}

TEST_F(TrunkTest, TheAgeOfAPacketIsCarried) {
  Build();
  Descriptor packet = Synthetic(HalfWay(0), 0, 64);
  const uint64_t second = rte_get_tsc_hz();
  packet.time -= second;
  Send(packet);
  CarryAll();
  Receive();
  ASSERT_EQ(arrived_.size(), 1u);
  // Only the time on the cable is not known.
  const uint64_t age = rte_rdtsc() - arrived_[0].time;
  EXPECT_GE(age, second / 100 * 99);
  EXPECT_LE(age, second * 60);
}

TEST_F(TrunkTest, EveryLostPacketIsCountedOnceTheNextArrives) {
  Build();
  for (int i = 0; i < 300; ++i) Send(Synthetic(HalfWay(i % 4), i % 16, 64));
  // The cable loses the first three, every tenth, and seven in a row.
  int lost = 0;
  Carry([&](int n, rte_mbuf*) {
    const bool keep = n >= 3 && n % 10 != 9 && !(n >= 100 && n < 107);
    if (!keep) ++lost;
    return keep;
  });
  Send(Synthetic(HalfWay(0), 0, 64));
  CarryAll();
  Receive();
  EXPECT_EQ(dropped(DropReason::kTrunkLost), static_cast<uint64_t>(lost));
  EXPECT_EQ(far_ledger_.taken_over, near_ledger_.handed_on);
  EXPECT_EQ(receiver_->counters().drops[static_cast<int>(DropReason::kTrunkLost)],
            static_cast<uint64_t>(lost));
}

TEST_F(TrunkTest, AHeaderThatLiesIsBadAndItsPacketMissing) {
  Build();
  const struct {
    int offset;
    uint8_t value;
  } lies[] = {
      {14, 2},                                  // version
      {15, 1},           {15, 9},               // a tester's frame; no type
      {16, 31},          {16, 33},              // header length
      {17, 1},           {17, 0x80},            // flags
      {17, 8},           {18, 1},    {21, 16},  // row
      {22, 0},           {22, 0x80},            // tag 0; tag with no hop left
      {22, 0x10 | 0x08},                        // tag with four hops left
      {29, 1},                                  // tag with 63
      {34, 0},           {34, 2},               // stage
      {35, 1},                                  // queue
      {36, 0xff},        {37, 13},              // inner length too long, too short
  };
  uint64_t bad = 0;
  for (const auto& lie : lies) {
    Send(Packet(HalfWay(0b10), 5, Pattern(64)));
    Carry([&](int, rte_mbuf* frame) {
      rte_pktmbuf_mtod(frame, uint8_t*)[lie.offset] = lie.value;
      return true;
    });
    Receive();
    EXPECT_EQ(dropped(DropReason::kBadHeader), ++bad) << "byte " << lie.offset;
  }
  Send(Packet(HalfWay(0b10), 5, Pattern(64)));
  CarryAll();
  Receive();
  EXPECT_EQ(arrived_.size(), 1u);
  EXPECT_EQ(dropped(DropReason::kTrunkLost), bad);
  EXPECT_EQ(far_ledger_.taken_over, near_ledger_.handed_on);
}

TEST_F(TrunkTest, ForeignFramesAreDroppedAndDisturbNothing) {
  Build();
  far_->Send(pool_.get(), Pattern(13));
  far_->Send(pool_.get(), Ethernet(RowAddress(3), RowAddress(4), 0x0800, Pattern(46)));
  far_->Send(pool_.get(), Ethernet(Hex("02bf01000001"), Hex("02bf01000000"), 0x88b5, Zeros(31)));
  far_->Send(pool_.get(),
             Ethernet(Hex("02bf01000001"), Hex("02bf01000000"), 0x88b5, Pattern(1551)));
  std::mt19937_64 random(7);
  for (int i = 0; i < 500; ++i) {
    Bytes frame(random() % 200);
    for (uint8_t& byte : frame) byte = static_cast<uint8_t>(random());
    if (i % 2 == 0 && frame.size() >= 14) {
      const Bytes head = Ethernet(Hex("02bf01000001"), Hex("02bf01000000"), 0x88b5);
      std::copy(head.begin(), head.end(), frame.begin());
    }
    far_->Send(pool_.get(), frame);
  }
  Receive();
  EXPECT_TRUE(arrived_.empty());
  EXPECT_EQ(dropped(DropReason::kOversized), 1u);
  EXPECT_GE(dropped(DropReason::kTruncated), 2u);
  EXPECT_GE(dropped(DropReason::kNotForFabric), 1u);
  EXPECT_EQ(far_ledger_.injected, 504u);
}

TEST_F(TrunkTest, PacketsKeepTheirOrderAndQueuesAreChosenByDestination) {
  Build(4);
  for (int i = 0; i < 400; ++i) {
    Send(Packet(HalfWay(i % 4), 0, Number(i, 60)));
  }
  CarryAll();
  Receive();
  ASSERT_EQ(arrived_.size(), 400u);
  std::map<WireTag, uint32_t> last;
  for (const Descriptor& packet : arrived_) {
    const Bytes bytes = BytesOf(packet);
    const uint32_t number = bytes[58] * 256u + bytes[59];
    if (last.contains(packet.tag)) {
      EXPECT_EQ(number, last[packet.tag] + 4);
    }
    last[packet.tag] = number;
  }
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u);
}

TEST_F(TrunkTest, AFullDevicePushesBackAndNothingIsLost) {
  Build(1, 8);
  std::vector<Descriptor> waiting;
  for (int i = 0; i < 200; ++i) waiting.push_back(Packet(HalfWay(0b11), 1, Number(i, 60)));
  size_t next = 0;
  for (int pass = 0; pass < 1000 && arrived_.size() < 200; ++pass) {
    const int offered = static_cast<int>(std::min<size_t>(kBurst, waiting.size() - next));
    next += sender_->outlet()->Send(waiting.data() + next, offered, near_ledger_);
    sender_->outlet()->Flush(near_ledger_);
    EXPECT_EQ(next, near_ledger_.handed_on + sender_->outlet()->held());
    CarryAll();
    Receive();
  }
  ASSERT_EQ(arrived_.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(BytesOf(arrived_[i]), Number(i, 60));
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u);
}

TEST_F(TrunkTest, WhatTheSenderGivesUpTheReceiverDoesNotMiss) {
  Build(1, 8);
  int taken = 0;
  while (Offer(Synthetic(HalfWay(0), 0, 64))) ++taken;
  EXPECT_EQ(taken, 7 + kBurst) << "the ring and one burst";
  EXPECT_EQ(sender_->outlet()->Discard(), uint64_t{kBurst});
  EXPECT_EQ(near_ledger_.handed_on, 7u);
  CarryAll();
  Receive();
  Send(Synthetic(HalfWay(0), 0, 64));
  CarryAll();
  Receive();
  EXPECT_EQ(arrived_.size(), 8u);
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u);
}

TEST(TrunkSequence, CountsGapsForgivesLatenessAndNoticesARestart) {
  TrunkSequence sequence;
  const auto expect = [&](uint32_t number, bool is_new, uint32_t lost) {
    const TrunkSequence::Step step = sequence.Next(number);
    EXPECT_EQ(step.is_new, is_new) << number;
    EXPECT_EQ(step.lost, lost) << number;
  };
  expect(0, true, 0);
  expect(1, true, 0);
  expect(5, true, 3);
  expect(3, false, 0);  // counted as lost already
  expect(5, false, 0);  // twice
  expect(6, true, 0);
  expect(0, true, 0);  // a new sender
  expect(1, true, 0);
  expect(100000, true, 99998);
  expect(10, true, 0);  // a new sender whose first ten were lost with the old one
}

TEST(TrunkSequence, GoesRoundAfter32Bits) {
  TrunkSequence sequence;
  sequence.Next(0x7fffffff);
  EXPECT_EQ(sequence.Next(0xfffffffe).lost, 0x7ffffffeu);
  EXPECT_EQ(sequence.Next(0xffffffff).lost, 0u);
  EXPECT_EQ(sequence.Next(1).lost, 1u);
}

}  // namespace
}  // namespace bfly::dataplane
