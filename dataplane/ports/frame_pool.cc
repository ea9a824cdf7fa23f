// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/frame_pool.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>
#include <rte_mempool.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kDefaultRoom = 2048;  // the least that devices expect of a buffer
// Enough for a device that keeps its rings full (AF_XDP has 2,048 to receive and 2,048 to send) and
// for the workers' bursts.
constexpr uint32_t kMbufsPerQueuePair = 5120;
constexpr uint32_t kMbufsInFabric = 8192;
// AF_XDP leaves this free in front of each frame. Other devices need less: virtio-net writes its
// own header of 12 bytes there, and is refused a buffer without room for it.
constexpr uint32_t kXdpHeadroom = 256;
constexpr uint32_t kPage = 4096;
// rte_mempool_objhdr, which DPDK rounds up to cache lines.
constexpr uint32_t kMempoolHeader = (sizeof(rte_mempool_objhdr) + RTE_CACHE_LINE_SIZE - 1) /
                                    RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE;
// DPDK adds a cache line so that buffers do not all begin on the same memory channel.
constexpr uint32_t kSpread = RTE_CACHE_LINE_SIZE;
constexpr uint32_t kLongestXdpFrame = kPage - kMempoolHeader - sizeof(rte_mbuf) -
                                      RTE_PKTMBUF_HEADROOM - kSpread - kXdpHeadroom -
                                      kTrunkOverhead;
static_assert(RTE_CACHE_LINE_SIZE != 64 || kLongestXdpFrame == 3402,
              "docs/kernel-interfaces.md says so");
constexpr uint32_t kCachedPerLcore = 256;
// DPDK gives buffers of an lcore's cache back to the pool when the cache would hold more than 1.5
// times its size (CACHE_FLUSHTHRESH_MULTIPLIER of rte_mempool.c). Fewer stay there for good if the
// lcore only returns buffers, so that no other lcore can take them.
constexpr uint32_t kMostCachedPerLcore = kCachedPerLcore * 3 / 2;
static_assert(kNoNode == SOCKET_ID_ANY);
static_assert(RTE_PKTMBUF_HEADROOM >= kTrunkOverhead,
              "a trunk header fits in front of every frame");

// DPDK leaves out the DMA address of a buffer that need not be contiguous. With virtual addresses
// it equals the buffer's own address.
void InitBuffer(rte_mempool* pool, void* argument, void* object, unsigned index) {
  if (rte_eal_iova_mode() == RTE_IOVA_VA) {
    rte_mempool_get_header(object)->iova = reinterpret_cast<rte_iova_t>(object);
  }
  rte_pktmbuf_init(pool, argument, object, index);
}

// Like rte_pktmbuf_pool_create, but without the gap that DPDK leaves where a buffer would cross a
// page. net_af_xdp (22.11) tells the kernel that the pool is as long as the sum of its buffers.
// With gaps the last buffers would lie outside, the kernel would silently swallow them, and the
// port would run dry. Buffers must keep within a page only if DMA uses physical addresses.
FramePool MakeDensePool(const std::string& name, uint32_t mbufs, uint16_t room, int node) {
  const unsigned flags = rte_eal_iova_mode() == RTE_IOVA_VA ? RTE_MEMPOOL_F_NO_IOVA_CONTIG : 0;
  FramePool pool(rte_mempool_create_empty(name.c_str(), mbufs, sizeof(rte_mbuf) + room,
                                          kCachedPerLcore, sizeof(rte_pktmbuf_pool_private), node,
                                          flags));
  if (pool == nullptr) return nullptr;
  pool->flags &= ~RTE_MEMPOOL_F_NON_IO;  // devices do write to these buffers (InitBuffer)
  rte_pktmbuf_pool_private sizes{};
  sizes.mbuf_data_room_size = room;
  int error = rte_mempool_set_ops_byname(pool.get(), rte_mbuf_best_mempool_ops(), nullptr);
  if (error == 0) {
    rte_pktmbuf_pool_init(pool.get(), &sizes);
    const int populated = rte_mempool_populate_default(pool.get());
    if (populated < 0) error = populated;
  }
  if (error != 0) {
    rte_errno = -error;
    return nullptr;
  }
  rte_mempool_obj_iter(pool.get(), InitBuffer, nullptr);
  return pool;
}

FramePool MakeRingPool(const std::string& name, uint32_t mbufs, uint16_t room, int node) {
  return FramePool(rte_pktmbuf_pool_create(name.c_str(), mbufs, kCachedPerLcore, 0, room, node));
}

// A stack hands out the buffers that came back last, which may still be in a cache. A ring, DPDK's
// default, hands out every buffer of the pool in turn, and together they are larger than a cache.
// If one worker both takes and returns buffers, the lcore's own cache of buffers works as such a
// stack.
FramePool MakeStackPool(const std::string& name, uint32_t mbufs, uint16_t room, int node) {
  FramePool pool(
      rte_pktmbuf_pool_create_by_ops(name.c_str(), mbufs, kCachedPerLcore, 0, room, node, "stack"));
  // DPDK's stack is a plugin, and may not be installed.
  return pool != nullptr ? std::move(pool) : MakeRingPool(name, mbufs, room, node);
}

// The buffers that devices may not find: those of frames inside the fabric, and those in the caches
// of the workers.
uint32_t MbufsBesideDevices(size_t workers) {
  return kMbufsInFabric + static_cast<uint32_t>(workers) * kMostCachedPerLcore;
}

// Fetches a line for writing. If another core has read a header, that core's copy must go before
// the header can be written.
void FetchToWrite(const char* line) {
#ifdef __x86_64__
  // The compiler offers this instruction only when it may use those of newer processors too. Older
  // processors ignore it.
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

}  // namespace

void FramePoolDeleter::operator()(rte_mempool* pool) const { rte_mempool_free(pool); }

bool IsAfXdp(const std::string& device) { return device.starts_with("net_af_xdp"); }

bool HasAfXdp(const FabricConfig& config) {
  const auto is_af_xdp = [](const auto& port) { return IsAfXdp(port.device); };
  return std::any_of(config.ports.begin(), config.ports.end(), is_af_xdp) ||
         std::any_of(config.trunks.begin(), config.trunks.end(), is_af_xdp);
}

void FetchBuffers(rte_mempool* pool) {
  const rte_mempool_cache* const cache = rte_mempool_default_cache(pool, rte_lcore_id());
  if (cache == nullptr) return;
  if (cache->len < 2 * kBurst) {
    // Fills the lcore's cache before the device would, so that the buffers' headers can be fetched.
    void* buffers[2 * kBurst];
    if (rte_mempool_get_bulk(pool, buffers, 2 * kBurst) != 0) return;
    rte_mempool_put_bulk(pool, buffers, 2 * kBurst);
  }
  // The device takes buffers from the end.
  for (uint32_t i = cache->len - std::min<uint32_t>(cache->len, kBurst); i < cache->len; ++i) {
    const auto* const header = static_cast<const char*>(cache->objs[i]);
    FetchToWrite(header);
    FetchToWrite(header + RTE_CACHE_LINE_SIZE);
  }
}

uint32_t FramePoolRoom(uint32_t max_frame_bytes) {
  const uint32_t frame = (kXdpHeadroom + max_frame_bytes + kTrunkOverhead + 63) / 64 * 64;
  return RTE_PKTMBUF_HEADROOM + std::max(kDefaultRoom, frame);
}

uint32_t LongestXdpFrame() { return kLongestXdpFrame; }

uint32_t FramePoolSize(const FabricConfig& config, size_t workers) {
  if (config.mbufs != 0) return config.mbufs;
  const int queue_pairs = QueuePairsOf(config) + config.spare_queue_pairs;
  return MbufsBesideDevices(workers) + static_cast<uint32_t>(queue_pairs) * kMbufsPerQueuePair;
}

int QueuePairsFor(uint32_t mbufs, size_t workers) {
  const uint32_t beside = MbufsBesideDevices(workers);
  return mbufs < beside ? 0 : static_cast<int>((mbufs - beside) / kMbufsPerQueuePair);
}

int QueuePairsOf(const FabricConfig& config) {
  int queue_pairs = 0;
  for (const HostPortConfig& port : config.ports) queue_pairs += port.queue_pairs;
  for (const TrunkConfig& trunk : config.trunks) queue_pairs += trunk.queue_pairs;
  return queue_pairs;
}

absl::StatusOr<FramePool> MakeFramePool(const std::string& name, const FabricConfig& config,
                                        size_t workers, int node) {
  const uint32_t mbufs = FramePoolSize(config, workers);
  const uint32_t room = FramePoolRoom(config.max_frame_bytes);
  // PCI cards of qemu lose a frame whose buffer crosses into a page at another place, so buffers
  // keep within pages if possible.
  const auto data_room = static_cast<uint16_t>(room);
  for (const int where : {node, kNoNode}) {
    // Ordinary pages are of the node whose memory this thread takes, hugepages of the node that
    // DPDK is asked for.
    const OnNode on(where);
    FramePool pool = HasAfXdp(config) ? MakeDensePool(name, mbufs, data_room, where)
                     : workers > 1    ? MakeStackPool(name, mbufs, data_room, where)
                                      : MakeRingPool(name, mbufs, data_room, where);
    if (pool != nullptr) return pool;
    if (where == kNoNode) break;
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "memory for frames: ", mbufs, " buffers of ", room, " bytes need about ",
      (uint64_t{mbufs} * (room + 256)) >> 20, " MiB, which DPDK refused (", rte_strerror(rte_errno),
      "); raise memory_mb of the data plane or lower max_frame_bytes or queue_pairs"));
}

}  // namespace bfly::dataplane
