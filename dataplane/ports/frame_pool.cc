// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/frame_pool.h"

#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kDefaultRoom = 2048;  // what devices expect of a buffer at least
// A device that keeps its rings full: AF_XDP 2,048 to receive and 2,048 to send, plus our own
// bursts.
constexpr uint32_t kMbufsPerQueuePair = 5120;
constexpr uint32_t kMbufsInFabric = 8192;
// AF_XDP leaves this free in front of each frame. Others need less: virtio-net writes its own
// header of 12 bytes there, and is refused a buffer without room for it.
constexpr uint32_t kXdpHeadroom = 256;
constexpr uint32_t kCachedPerLcore = 256;
static_assert(RTE_PKTMBUF_HEADROOM >= kTrunkOverhead,
              "a trunk header fits in front of every frame");

}  // namespace

void FramePoolDeleter::operator()(rte_mempool* pool) const { rte_mempool_free(pool); }

uint32_t FramePoolRoom(uint32_t max_frame_bytes) {
  const uint32_t frame = (kXdpHeadroom + max_frame_bytes + kTrunkOverhead + 63) / 64 * 64;
  return RTE_PKTMBUF_HEADROOM + std::max(kDefaultRoom, frame);
}

uint32_t FramePoolSize(const FabricConfig& config) {
  if (config.mbufs != 0) return config.mbufs;
  uint32_t queue_pairs = 0;
  for (const HostPortConfig& port : config.ports) queue_pairs += port.queue_pairs;
  for (const TrunkConfig& trunk : config.trunks) queue_pairs += trunk.queue_pairs;
  return kMbufsInFabric + queue_pairs * kMbufsPerQueuePair;
}

absl::StatusOr<FramePool> MakeFramePool(const std::string& name, const FabricConfig& config) {
  const uint32_t mbufs = FramePoolSize(config);
  const uint32_t room = FramePoolRoom(config.max_frame_bytes);
  FramePool pool(rte_pktmbuf_pool_create(name.c_str(), mbufs, kCachedPerLcore, 0,
                                         static_cast<uint16_t>(room), SOCKET_ID_ANY));
  if (pool != nullptr) return pool;
  return absl::ResourceExhaustedError(absl::StrCat(
      "mbufs: ", mbufs, " buffers of ", room, " bytes need about ",
      (uint64_t{mbufs} * (room + 256)) >> 20, " MiB, which DPDK refused (", rte_strerror(rte_errno),
      "); raise memory_mb of the data plane or lower max_frame_bytes, mbufs or queue_pairs"));
}

}  // namespace bfly::dataplane
