// SPDX-License-Identifier: Apache-2.0
// Frames of a trunk with false sequence numbers, at the devices of both ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "dataplane/frames/wire_header.h"
#include "tests/packet/edge_trunk_fixture.h"

namespace bfly::dataplane {
namespace {

// A frame as the sender wrote it but for the low half of its sequence number.
void SetSequence(rte_mbuf* frame, uint32_t sequence) {
  StoreBe32(rte_pktmbuf_mtod(frame, uint8_t*) + 30, sequence);
}

TEST_F(TrunkTest, AForgedFrameAheadOfEachThousandHidesNothing) {
  Build();
  uint32_t sent = 0;
  for (int round = 0; round < 5; ++round) {
    Send(Synthetic(HalfWay(0), 0, 64));
    rte_mbuf* frame = near_->TakeMbuf(0);
    rte_mbuf* forged = rte_pktmbuf_copy(frame, pool_.get(), 0, UINT32_MAX);
    SetSequence(forged, sent + 1023);
    far_->SendMbuf(forged, 0);
    far_->SendMbuf(frame, 0);
    for (int i = 1; i < 1000; ++i) {
      Send(Synthetic(HalfWay(0), 0, 64));
      if (i % 100 == 0) CarryAll(), Receive();
    }
    CarryAll();
    Receive();
    sent += 1000;
  }
  EXPECT_EQ(near_ledger_.handed_on, 5000u);
  // A forged number replaces the real frame of this number and no other frame. The last forged
  // number is above all real ones.
  EXPECT_EQ(arrived_.size(), 5001u);
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u);
  EXPECT_EQ(dropped(DropReason::kTrunkDuplicate), 4u);
}

TEST_F(TrunkTest, NumbersOutOfReachCountNothing) {
  Build();
  for (uint32_t i = 0; i < 100; ++i) {
    Send(Synthetic(HalfWay(0), 0, 64));
    rte_mbuf* frame = near_->TakeMbuf(0);
    std::vector<rte_mbuf*> forged;
    for (const uint32_t lie : {i + 1 + 0x7fffffffu, 0u, i + 1 + 0x80000000u}) {
      forged.push_back(rte_pktmbuf_copy(frame, pool_.get(), 0, UINT32_MAX));
      SetSequence(forged.back(), lie);
    }
    far_->SendMbuf(frame, 0);
    for (rte_mbuf* one : forged) far_->SendMbuf(one, 0);
    Receive();
  }
  EXPECT_EQ(dropped(DropReason::kTrunkLost), 0u);
  EXPECT_EQ(arrived_.size(), 100u);
  EXPECT_EQ(dropped(DropReason::kTrunkDuplicate), 100u);
  // The last two still wait for more frames like them.
  EXPECT_EQ(dropped(DropReason::kTrunkForeign), 198u);
}

TEST_F(TrunkTest, FramesThatOvertakeEachOtherAreNotLost) {
  Build();
  std::vector<rte_mbuf*> frames;
  for (int i = 0; i < 300; ++i) {
    Send(Synthetic(HalfWay(0), 0, 64));
    frames.push_back(near_->TakeMbuf(0));
  }
  std::shuffle(frames.begin() + 1, frames.end(), std::mt19937_64(7));
  for (rte_mbuf* frame : frames) far_->SendMbuf(frame, 0);
  Receive();
  EXPECT_EQ(arrived_.size(), 300u);
  EXPECT_EQ(far_ledger_.dropped_total(), 0u);
}

TEST_F(TrunkTest, ASenderThatStartsAgainIsHeardAtOnceAfterAPause) {
  Build();
  for (int i = 0; i < 5; ++i) Send(Synthetic(HalfWay(0), 0, 64));
  CarryAll();
  Receive();
  rte_delay_us_sleep(150000);
  for (uint32_t i = 0; i < 3; ++i) {
    Send(Synthetic(HalfWay(0), 0, 64));
    Carry([&](int, rte_mbuf* frame) {
      rte_pktmbuf_mtod(frame, uint8_t*)[46] ^= 1;  // another session
      SetSequence(frame, i);
      return true;
    });
  }
  Receive();
  EXPECT_EQ(arrived_.size(), 8u);
  EXPECT_EQ(far_ledger_.dropped_total(), 0u);
}

}  // namespace
}  // namespace bfly::dataplane
