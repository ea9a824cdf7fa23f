// SPDX-License-Identifier: Apache-2.0
#include "tests/packet/ring_peer.h"

#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_eth_ring.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {

RingPeer::RingPeer(const std::string& name, unsigned size, int queues)
    : device_("net_ring_" + name) {
  for (int q = 0; q < queues; ++q) {
    to_port_.push_back(rte_ring_create(absl::StrCat(name, "_in", q).c_str(), size, 0, 0));
    from_port_.push_back(rte_ring_create(absl::StrCat(name, "_out", q).c_str(), size, 0, 0));
    EXPECT_NE(to_port_.back(), nullptr);
    EXPECT_NE(from_port_.back(), nullptr);
  }
  EXPECT_GE(rte_eth_from_rings(name.c_str(), to_port_.data(), static_cast<unsigned>(queues),
                               from_port_.data(), static_cast<unsigned>(queues), 0),
            0);
}

RingPeer::~RingPeer() {
  EXPECT_EQ(rte_eal_hotplug_remove("vdev", device_.c_str()), 0);
  for (auto* rings : {&to_port_, &from_port_}) {
    for (rte_ring* ring : *rings) {
      void* frame;
      while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
      rte_ring_free(ring);
    }
  }
}

void RingPeer::Send(rte_mempool* pool, const Bytes& frame, size_t piece, int queue) {
  rte_mbuf* first = nullptr;
  for (size_t at = 0; at < frame.size() || first == nullptr; at += piece) {
    const size_t size = std::min(piece, frame.size() - at);
    rte_mbuf* segment = rte_pktmbuf_alloc(pool);
    ASSERT_NE(segment, nullptr);
    if (!frame.empty())
      std::memcpy(rte_pktmbuf_append(segment, static_cast<uint16_t>(size)), frame.data() + at,
                  size);
    if (first == nullptr) {
      first = segment;
    } else {
      ASSERT_EQ(rte_pktmbuf_chain(first, segment), 0);
    }
  }
  SendMbuf(first, queue);
}

void RingPeer::SendMbuf(rte_mbuf* frame, int queue) {
  ASSERT_EQ(rte_ring_enqueue(to_port_[queue], frame), 0);
}

std::vector<Bytes> RingPeer::Take(int queue) {
  std::vector<Bytes> frames;
  while (rte_mbuf* frame = TakeMbuf(queue)) {
    EXPECT_EQ(frame->nb_segs, 1);
    const uint8_t* bytes = rte_pktmbuf_mtod(frame, const uint8_t*);
    frames.emplace_back(bytes, bytes + frame->data_len);
    rte_pktmbuf_free(frame);
  }
  return frames;
}

rte_mbuf* RingPeer::TakeMbuf(int queue) {
  void* frame = nullptr;
  return rte_ring_dequeue(from_port_[queue], &frame) == 0 ? static_cast<rte_mbuf*>(frame) : nullptr;
}

}  // namespace bfly::dataplane
