// SPDX-License-Identifier: Apache-2.0
// The rings that an AF_XDP device shares with the kernel, as this process has mapped them, and the
// packet buffers in them. When net_af_xdp (22.11) is closed, it does not return its buffers to
// their pool. These are about 2,000 for each queue pair, and a fabric would run out of buffers
// after an interface had gone and come back a few times. The driver also forgets to close the
// socket that has the device's memory, because it counts users wrongly, so that no other process
// could use the interface's queue while this process lives.
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

// All such rings of this process at this moment. The rings that appear while a device is opened are
// the device's.
std::vector<XskRing> XskRings();
std::vector<XskRing> Without(const std::vector<XskRing>& rings, const std::vector<XskRing>& others);

// The buffers of `pool` that lie in `rings`. Call it when no worker uses the device, and its
// interface is gone or has no XDP program any more, so that the kernel takes and gives no more
// buffers.
std::vector<rte_mbuf*> BuffersIn(const std::vector<XskRing>& rings, const rte_mempool* pool);

// Closes and unmaps those of `rings` that the driver left open when it closed their device.
void CloseLeft(const std::vector<XskRing>& rings);

}  // namespace bfly::dataplane
