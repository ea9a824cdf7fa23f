// SPDX-License-Identifier: Apache-2.0
// The rings that an AF_XDP device shares with the kernel, as this process has them mapped, and the
// packet buffers in them. When net_af_xdp (22.11) is closed, it returns none of its buffers to
// their pool, some 2,000 a queue pair, which a fabric would miss after an interface went and came a
// few times. It also forgets the socket with the device's memory, because it counts users wrongly,
// so that nobody else could have the interface's queue while this process lives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct rte_mbuf;
struct rte_mempool;

namespace bfly::dataplane {

struct XskRing {
  uint64_t socket = 0;  // inode
  uint64_t kind = 0;    // XDP_PGOFF_RX_RING and so on
  uint8_t* start = nullptr;
  size_t bytes = 0;

  bool operator==(const XskRing&) const = default;
};

// Every such ring of this process now. What is there after a device was opened, and was not before,
// is the device's.
std::vector<XskRing> XskRings();
std::vector<XskRing> Without(const std::vector<XskRing>& rings, const std::vector<XskRing>& others);

// The buffers of `pool` that lie in `rings`. Nobody uses the device, and its interface is gone: the
// kernel takes and gives no more.
std::vector<rte_mbuf*> BuffersIn(const std::vector<XskRing>& rings, const rte_mempool* pool);

// Closes the sockets of `rings`, and unmaps those of the rings, that the driver left open when it
// closed their device.
void CloseLeft(const std::vector<XskRing>& rings);

}  // namespace bfly::dataplane
