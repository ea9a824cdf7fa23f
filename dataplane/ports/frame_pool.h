// SPDX-License-Identifier: Apache-2.0
// The buffers of frames: a data plane has one pool, and each buffer holds a whole frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/core/config.h"
#include "dataplane/runtime/numa.h"

struct rte_mempool;

namespace bfly::dataplane {

struct FramePoolDeleter {
  void operator()(rte_mempool* pool) const;
};
using FramePool = std::unique_ptr<rte_mempool, FramePoolDeleter>;

// Bytes of a buffer. A buffer holds three things: DPDK's headroom, in which a trunk writes its
// header; the longest frame with that header, as the other end of a trunk receives it; and the
// bytes that a device writes beside the frame.
uint32_t FramePoolRoom(uint32_t max_frame_bytes);
// Bytes of the longest frame whose buffer, with all its headers, fits a page. The kernel takes no
// longer buffer for AF_XDP.
uint32_t LongestXdpFrame();

// The number of buffers for the config: the number that the config gives. By default as many as the
// rings of its devices and of spare_queue_pairs further queue pairs can hold, what the caches of
// `workers` workers can keep to themselves, and some more for frames inside the fabric.
uint32_t FramePoolSize(const FabricConfig& config, size_t workers);
// The number of queue pairs for which `mbufs` buffers are enough by the default.
int QueuePairsFor(uint32_t mbufs, size_t workers);
// How many queue pairs the ports and trunks of the config have.
int QueuePairsOf(const FabricConfig& config);

// net_af_xdp takes buffers from a pool only if the pool was made for a config with such a device.
bool IsAfXdp(const std::string& device);
bool HasAfXdp(const FabricConfig& config);

// `name` must be unique among DPDK's memory zones. `workers`: how many take and return buffers; of
// several, one may take a buffer and another one return it. `node`: the node on which the buffers
// lie if it has room (runtime/numa.h). ResourceExhausted says how much memory was asked for.
absl::StatusOr<FramePool> MakeFramePool(const std::string& name, const FabricConfig& config,
                                        size_t workers = 1, int node = kNoNode);

// Fetches the headers of the next burst of buffers to the cache of the calling lcore, which is
// about to take them after other workers returned them.
void FetchBuffers(rte_mempool* pool);

}  // namespace bfly::dataplane
