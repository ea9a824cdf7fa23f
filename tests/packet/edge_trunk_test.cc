// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <array>
#include <map>
#include <random>

#include "dataplane/core/tsc_hz.h"
#include "tests/packet/edge_trunk_fixture.h"

namespace bfly::dataplane {
namespace {

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
  EXPECT_EQ(receiver_->counters().rx_bytes, 3 * 54 + 14 + 60 + 1518u);
  EXPECT_EQ(sender_->counters().tx_bytes, receiver_->counters().rx_bytes);
}

TEST_F(TrunkTest, ASyntheticPacketCrossesWithoutAFrame) {
  Build();
  Send(Synthetic(HalfWay(0b01), 2, 1518));
  CarryAll();
  Receive();
  ASSERT_EQ(arrived_.size(), 1u);
  EXPECT_EQ(arrived_[0].mbuf, nullptr);
  EXPECT_EQ(arrived_[0].bytes, 1518u);
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
  const uint64_t second = TscHz();
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

TEST_F(TrunkTest, EveryLostPacketIsCountedOnceEnoughOthersArrived) {
  Build();
  for (int i = 0; i < 300; ++i) Send(Synthetic(HalfWay(i % 4), i % 16, 64));
  // The cable loses the first three, every tenth, and seven in a row.
  int lost = 0;
  Carry([&](int n, rte_mbuf*) {
    const bool keep = n >= 3 && n % 10 != 9 && !(n >= 100 && n < 107);
    if (!keep) ++lost;
    return keep;
  });
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u) << "they may still come";
  GoOnAndPause();
  EXPECT_EQ(dropped(DropReason::kTrunkLost), static_cast<uint64_t>(lost));
  EXPECT_EQ(far_ledger_.taken_over, near_ledger_.handed_on);
  EXPECT_EQ(receiver_->counters().drops[static_cast<int>(DropReason::kTrunkLost)],
            static_cast<uint64_t>(lost));
}

// Rows 0-3 belong to queue pair 0, rows 4-7 to queue pair 1, and so on. One worker receives them.
TEST_F(TrunkTest, ALossOnAnyQueuePairIsCountedWhenTheTrunkIsQuiet) {
  Build(4);
  for (const Row row : {0u, 5u, 10u, 15u}) {
    Send(Synthetic(HalfWay(0), row, 64));
    Carry([](int, rte_mbuf*) { return false; });
    for (uint32_t i = 0; i < TrunkSequence::kEvidence; ++i) Send(Synthetic(HalfWay(0), row, 64));
    CarryAll();
    Receive();
  }
  rte_delay_us_sleep(150000);
  for (int call = 0; call < 4; ++call) Receive();
  EXPECT_EQ(arrived_.size(), size_t{4} * TrunkSequence::kEvidence);
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 4u);
  EXPECT_EQ(far_ledger_.taken_over, near_ledger_.handed_on);
}

TEST_F(TrunkTest, AHeaderThatLiesIsBadAndItsPacketMissing) {
  Build();
  const struct {
    int offset;
    uint8_t value;
  } lies[] = {
      {14, 2},                                  // version
      {15, 1},           {15, 9},               // a tester's frame; no type
      {16, 39},          {16, 41},              // header length
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
  GoOnAndPause();
  EXPECT_EQ(dropped(DropReason::kTrunkLost), bad);
  EXPECT_EQ(far_ledger_.taken_over, near_ledger_.handed_on);
}

TEST_F(TrunkTest, ALengthThatASyntheticPacketCannotHaveIsRefused) {
  Build();
  const auto pretends = [&](uint16_t bytes) {
    Send(Synthetic(HalfWay(0b10), 5, 64));
    Carry([&](int, rte_mbuf* frame) {
      constexpr int kInnerBytes = 36;
      rte_pktmbuf_mtod(frame, uint8_t*)[kInnerBytes] = static_cast<uint8_t>(bytes >> 8);
      rte_pktmbuf_mtod(frame, uint8_t*)[kInnerBytes + 1] = static_cast<uint8_t>(bytes);
      return true;
    });
    Receive();
  };
  for (const uint16_t bytes : {0, 63}) pretends(bytes);
  for (const uint16_t bytes : {1519, 65535}) pretends(bytes);
  EXPECT_EQ(dropped(DropReason::kBadHeader), 2u);
  EXPECT_EQ(dropped(DropReason::kOversized), 2u);
  EXPECT_TRUE(arrived_.empty());
  for (const uint16_t bytes : {64, 1518}) pretends(bytes);
  EXPECT_EQ(arrived_.size(), 2u);
}

TEST_F(TrunkTest, ForeignFramesAreDroppedAndDisturbNothing) {
  Build();
  far_->Send(pool_.get(), Pattern(13));
  far_->Send(pool_.get(), Ethernet(RowAddress(3), RowAddress(4), 0x0800, Pattern(46)));
  far_->Send(pool_.get(), Ethernet(Hex("02bf01000001"), Hex("02bf01000000"), 0x88b5, Zeros(39)));
  far_->Send(pool_.get(),
             Ethernet(Hex("02bf01000001"), Hex("02bf01000000"), 0x88b5, Pattern(1559)));
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

TEST_F(TrunkTest, EachWorkerReceivesItsRowsAndTrustsNoFrameOfOthers) {
  worker_of_ = [](Row row) { return row < 8 ? 5 : 2; };
  Build(4);
  const std::vector<Trunk::WayIn>& ways = receiver_->ways_in();
  ASSERT_EQ(ways.size(), 2u);
  EXPECT_EQ(ways[0].worker, 5);
  EXPECT_EQ(ways[1].worker, 2);
  const auto receive = [&](size_t way) {
    std::vector<Row> rows;
    Descriptor burst[kBurst];
    const int n = ways[way].inlet->Receive(burst, kBurst, far_ledger_);
    for (int i = 0; i < n; ++i) rows.push_back(burst[i].row);
    return rows;
  };
  for (Row row = 0; row < 16; ++row) Send(Synthetic(HalfWay(0), row, 64));
  CarryAll();
  const std::vector<Row> upper = {8, 9, 10, 11, 12, 13, 14, 15}, lower = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(ways[0].rows, lower);
  EXPECT_EQ(ways[1].rows, upper);
  EXPECT_EQ(receive(1), upper);
  EXPECT_EQ(receive(0), lower);

  // Row 12 belongs to queue pair 3 and row 3 to queue pair 0. Byte 35 of a frame names the pair.
  constexpr int kSays = 35;
  const auto brings = [&](Row row, int sent_at, int says, int comes_at) {
    Send(Synthetic(HalfWay(0), row, 64));
    rte_mbuf* const frame = near_->TakeMbuf(sent_at);
    ASSERT_NE(frame, nullptr);
    rte_pktmbuf_mtod(frame, uint8_t*)[kSays] = static_cast<uint8_t>(says);
    far_->SendMbuf(frame, comes_at);
  };
  brings(12, 3, 3, 0);
  brings(12, 3, 0, 0);
  brings(3, 0, 1, 0);
  brings(3, 0, 1, 1);
  EXPECT_TRUE(receive(0).empty());
  EXPECT_EQ(dropped(DropReason::kBadHeader), 4u);
  brings(3, 0, 0, 0);
  EXPECT_EQ(receive(0).size(), 1u);
}

TEST_F(TrunkTest, PacketsKeepTheirOrderAndQueuesAreChosenByRow) {
  Build(4);
  for (int i = 0; i < 400; ++i) {
    const auto row = static_cast<Row>(4 * (i % 4) + i / 4 % 4);
    Send(Packet(HalfWay(i % 4), row, Number(i, 60)));
  }
  // Of four queues the first two bits of the row choose one, and packet i has the bits of i % 4.
  for (uint32_t queue = 0; queue < 4; ++queue) {
    std::vector<uint32_t> sent, expected;
    for (uint32_t i = 0; i < 100; ++i) expected.push_back(4 * i + queue);
    while (rte_mbuf* frame = near_->TakeMbuf(static_cast<int>(queue))) {
      const uint8_t* end = rte_pktmbuf_mtod_offset(frame, const uint8_t*, frame->data_len);
      sent.push_back(end[-2] * 256u + end[-1]);
      far_->SendMbuf(frame, static_cast<int>(queue));
    }
    EXPECT_EQ(sent, expected) << "queue " << queue;
  }
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
    next += sender_->ways_out()[0].outlet->Send(waiting.data() + next, offered, near_ledger_);
    sender_->ways_out()[0].outlet->Flush(near_ledger_);
    EXPECT_EQ(next, near_ledger_.handed_on + sender_->ways_out()[0].outlet->held());
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
  EXPECT_EQ(sender_->ways_out()[0].outlet->Discard(), uint64_t{kBurst});
  EXPECT_EQ(near_ledger_.handed_on, 7u);
  CarryAll();
  Receive();
  Send(Synthetic(HalfWay(0), 0, 64));
  CarryAll();
  Receive();
  EXPECT_EQ(arrived_.size(), 8u);
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u);
}

// Rows 0-7 belong to queue pair 0 and rows 8-15 to queue pair 1. A ring has room for 7 frames.
TEST_F(TrunkTest, AQueuePairThatIsStuckIsGivenUpAloneUntilItTakesPacketsAgain) {
  Build(2, 8);
  TrunkOutlet& outlet = *sender_->ways_out()[0].outlet;
  const auto given_up = [&] {
    return near_ledger_.dropped[static_cast<int>(DropReason::kPortFull)];
  };
  int taken = 0;
  while (Offer(Synthetic(HalfWay(0), 15, 64))) ++taken;
  EXPECT_EQ(taken, 7 + kBurst);
  EXPECT_EQ(given_up(), 0u);
  rte_delay_us_sleep(150000);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(Offer(Packet(HalfWay(0), 15, Number(i, 60)))) << "packet " << i;
  }
  ASSERT_TRUE(Offer(Synthetic(HalfWay(0), 0, 64)));
  outlet.Flush(near_ledger_);
  EXPECT_EQ(outlet.held(), 0u);
  EXPECT_EQ(near_ledger_.handed_on, 7u + 1);
  EXPECT_EQ(given_up(), uint64_t{kBurst} + 200);
  EXPECT_EQ(sender_->counters().drops[static_cast<int>(DropReason::kPortFull)], given_up());

  CarryAll();
  Receive();
  for (uint32_t i = 0; i < TrunkSequence::kEvidence; ++i) {
    Send(Synthetic(HalfWay(0), 15, 64));
    CarryAll();
    Receive();
  }
  rte_delay_us_sleep(150000);
  Receive();
  EXPECT_EQ(arrived_.size(), 7u + 1 + TrunkSequence::kEvidence);
  EXPECT_EQ(near_ledger_.handed_on, arrived_.size());
  EXPECT_EQ(given_up(), uint64_t{kBurst} + 200);
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u);
}

}  // namespace
}  // namespace bfly::dataplane
