// SPDX-License-Identifier: Apache-2.0
// The buffers frames live in: one pool a data plane, each buffer holds a whole frame.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/core/config.h"

struct rte_mempool;

namespace bfly::dataplane {

struct FramePoolDeleter {
  void operator()(rte_mempool* pool) const;
};
using FramePool = std::unique_ptr<rte_mempool, FramePoolDeleter>;

// Bytes of a buffer: DPDK's headroom, in which a trunk writes its header, and the longest frame
// with that header, as the other end of a trunk receives it, and with what a device puts beside it.
uint32_t FramePoolRoom(uint32_t max_frame_bytes);

// Buffers the config needs: what it says, else what the rings of its devices can hold and a share
// for frames inside the fabric.
uint32_t FramePoolSize(const FabricConfig& config);

// `name` is unique among DPDK's memory zones. ResourceExhausted says how much memory was asked for.
// `several_workers`: one worker may take a buffer and another one give it back.
absl::StatusOr<FramePool> MakeFramePool(const std::string& name, const FabricConfig& config,
                                        bool several_workers = false);

// On the lcore that is about to take a burst of buffers: has their headers brought to its core,
// where other workers gave the buffers back.
void FetchBuffers(rte_mempool* pool);

}  // namespace bfly::dataplane
