// SPDX-License-Identifier: Apache-2.0
// The other end of a DPDK port, held by the test.
#pragma once

#include <rte_mbuf.h>
#include <rte_ring.h>

#include <string>
#include <vector>

#include "tests/packet/frame_bytes.h"

namespace bfly::dataplane {

// A net_ring device made of a pair of rings for each queue: what the peer sends, and what it gets.
class RingPeer {
 public:
  explicit RingPeer(const std::string& name, unsigned size = 1024, int queues = 1);
  ~RingPeer();
  RingPeer(const RingPeer&) = delete;
  RingPeer& operator=(const RingPeer&) = delete;

  const std::string& device() const { return device_; }
  // As one piece, or in pieces of at most `piece` bytes.
  void Send(rte_mempool* pool, const Bytes& frame, size_t piece = 1 << 16, int queue = 0);
  void SendMbuf(rte_mbuf* frame, int queue = 0);
  // Frames the port sent since the last call.
  std::vector<Bytes> Take(int queue = 0);
  // The next frame the port sent, or null.
  rte_mbuf* TakeMbuf(int queue = 0);

 private:
  std::string device_;
  std::vector<rte_ring*> to_port_;
  std::vector<rte_ring*> from_port_;
};

}  // namespace bfly::dataplane
