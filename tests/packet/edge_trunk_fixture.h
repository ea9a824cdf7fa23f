// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <rte_cycles.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/trunk.h"
#include "tests/packet/flow_card.h"
#include "tests/packet/frame_bytes.h"
#include "tests/packet/ring_peer.h"

namespace bfly::dataplane {

inline constexpr int kBoundary = 1;  // of a butterfly of 16 rows: two hops done, two to go

// A tag with the two hops to go left.
inline WireTag HalfWay(uint64_t bits) { return ToWire(bits, 2); }

// Both ends of a trunk. The test plays the cable between their devices.
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
      trunk.device = !sends && receiver_over_card_ ? AsCard(peer.device()) : peer.device();
      trunk.after_stage = kBoundary;
      trunk.sends = sends;
      trunk.queue_pairs = queues;
      auto opened =
          Trunk::Open("trunks[0]", trunk, *network, 1518, pool_.get(), nullptr, worker_of_);
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
    return sender_->ways_out()[0].outlet->Send(&packet, 1, near_ledger_) == 1;
  }
  void Send(const Descriptor& packet) {
    ASSERT_TRUE(Offer(packet));
    sender_->ways_out()[0].outlet->Flush(near_ledger_);
  }

  // Carries the frames that the sender gave to its device. `keep` says whether the cable passes the
  // n-th frame on.
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
      const int n = receiver_->ways_in()[0].inlet->Receive(burst, kBurst, far_ledger_);
      arrived_.insert(arrived_.end(), burst, burst + n);
    } while (receiver_->counters().rx_packets != before);
    // The receiver's account: what entered is held by the test or was dropped.
    EXPECT_EQ(far_ledger_.injected + far_ledger_.taken_over,
              arrived_.size() + far_ledger_.dropped_total());
  }
  // Sends enough frames for the receiver to give up what is missing before them, and pauses.
  void GoOnAndPause() {
    for (uint32_t i = 0; i < TrunkSequence::kEvidence; ++i) Send(Synthetic(HalfWay(0), 0, 64));
    CarryAll();
    Receive();
    rte_delay_us_sleep(150000);
    Receive();
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
  WorkerOfRow worker_of_ = [](Row) { return 0; };  // behind the receiver
  bool receiver_over_card_ = false;                // in programs with flow_card.cc
  int queues_ = 1;
  int carried_ = 0;
};

}  // namespace bfly::dataplane
