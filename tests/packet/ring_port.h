// SPDX-License-Identifier: Apache-2.0
// A host port of two rings in memory (net_ring). The test plays the host; its frames come from a
// pool of its own, so that every buffer can be counted.
#pragma once

#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/core/config.h"

namespace bfly::dataplane {

inline std::string UniqueName(const char* what) {
  static std::atomic<int> next{0};
  return absl::StrCat(what, next.fetch_add(1));
}

class FrameSource {
 public:
  FrameSource()
      : pool_(rte_pktmbuf_pool_create(UniqueName("test_frames").c_str(), 8191, 0, 0,
                                      RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY)) {
    EXPECT_NE(pool_, nullptr);
  }
  ~FrameSource() {
    EXPECT_EQ(in_use(), 0u) << "a frame was lost or freed twice";
    rte_mempool_free(pool_);
  }

  // `bytes` long, from `input` to `output` by MAC address, numbered by `id` in the payload.
  rte_mbuf* Make(Row input, Row output, uint32_t id, uint16_t bytes = 64) {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool_);
    if (frame == nullptr) return nullptr;
    if (rte_pktmbuf_append(frame, bytes) == nullptr) return nullptr;
    uint8_t* p = rte_pktmbuf_mtod(frame, uint8_t*);
    std::memset(p, 0, bytes);
    const uint8_t to[] = {0x02,           0xbf, 0, uint8_t(output >> 16), uint8_t(output >> 8),
                          uint8_t(output)};
    const uint8_t from[] = {0x02,          0xbf, 0, uint8_t(input >> 16), uint8_t(input >> 8),
                            uint8_t(input)};
    std::memcpy(p, to, 6);
    std::memcpy(p + 6, from, 6);
    p[12] = 0x88;  // IEEE 802 local experimental 2: opaque to the edge
    p[13] = 0xb6;
    std::memcpy(p + 14, &id, sizeof(id));
    return frame;
  }
  uint32_t in_use() const { return rte_mempool_in_use_count(pool_); }

 private:
  rte_mempool* pool_;
};

inline uint32_t FrameId(const rte_mbuf* frame) {
  uint32_t id;
  std::memcpy(&id, rte_pktmbuf_mtod_offset(frame, const uint8_t*, 14), sizeof(id));
  return id;
}

class RingPort {
 public:
  explicit RingPort(int queues = 1, uint32_t slots = 1024) : name_(UniqueName("test_port")) {
    for (int q = 0; q < queues; ++q) {
      to_fabric_.push_back(MakeRing(slots));
      from_fabric_.push_back(MakeRing(slots));
    }
    const unsigned n = static_cast<unsigned>(queues);
    EXPECT_GE(rte_eth_from_rings(name_.c_str(), to_fabric_.data(), n, from_fabric_.data(), n, 0),
              0);
  }
  ~RingPort() {
    rte_vdev_uninit(absl::StrCat("net_ring_", name_).c_str());
    for (auto* rings : {&to_fabric_, &from_fabric_}) {
      for (rte_ring* ring : *rings) {
        void* frame;
        while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
        rte_ring_free(ring);
      }
    }
  }

  HostPortConfig Config(std::vector<Row> rows) const {
    HostPortConfig config;
    config.name = name_;
    config.device = absl::StrCat("net_ring_", name_);
    config.rows = std::move(rows);
    config.queue_pairs = static_cast<int>(to_fabric_.size());
    return config;
  }

  bool Send(rte_mbuf* frame, int queue = 0) {
    return frame != nullptr && rte_ring_enqueue(to_fabric_[queue], frame) == 0;
  }
  // The next frame that left at any queue, or null. The caller frees it.
  rte_mbuf* Receive() {
    for (rte_ring* ring : from_fabric_) {
      void* frame;
      if (rte_ring_dequeue(ring, &frame) == 0) return static_cast<rte_mbuf*>(frame);
    }
    return nullptr;
  }
  uint32_t waiting_to_enter() const {
    uint32_t sum = 0;
    for (rte_ring* ring : to_fabric_) sum += rte_ring_count(ring);
    return sum;
  }
  uint32_t left() const {
    uint32_t sum = 0;
    for (rte_ring* ring : from_fabric_) sum += rte_ring_count(ring);
    return sum;
  }

 private:
  static rte_ring* MakeRing(uint32_t slots) {
    rte_ring* ring = rte_ring_create(UniqueName("test_ring").c_str(), slots, SOCKET_ID_ANY, 0);
    EXPECT_NE(ring, nullptr);
    return ring;
  }

  std::string name_;
  std::vector<rte_ring*> to_fabric_;
  std::vector<rte_ring*> from_fabric_;
};

}  // namespace bfly::dataplane
