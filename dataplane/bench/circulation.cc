// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/circulation.h"

#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

namespace bfly::dataplane {

absl::Status Circulate(const std::string& device, const Frames& frames) {
  // net_ring gives this name to what its first queue pair sends into and receives from.
  rte_ring* const ring = rte_ring_lookup(absl::StrCat("ETH_RXTX0_", device).c_str());
  if (ring == nullptr) return absl::UnavailableError(absl::StrCat(device, " has no ring"));
  rte_mempool* const pool =
      rte_pktmbuf_pool_create(absl::StrCat("round_", device).c_str(), 2 * kCirculatingFrames - 1, 0,
                              0, RTE_MBUF_DEFAULT_BUF_SIZE, static_cast<int>(rte_socket_id()));
  std::array<rte_mbuf*, kCirculatingFrames> buffers;
  if (pool == nullptr || rte_pktmbuf_alloc_bulk(pool, buffers.data(), buffers.size()) != 0) {
    return absl::UnavailableError(absl::StrCat("no memory for frames in the ring of ", device));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto& frame = frames[i % frames.size()];
    char* const bytes = rte_pktmbuf_append(buffers[i], static_cast<uint16_t>(frame.size()));
    std::copy(frame.begin(), frame.end(), bytes);
  }
  // One call puts in all frames. The worker also sends into the ring, but only frames that it has
  // received from it.
  void* const* const objects = reinterpret_cast<void* const*>(buffers.data());
  if (rte_ring_enqueue_bulk(ring, objects, buffers.size(), nullptr) == buffers.size()) {
    return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat("the ring of ", device, " is full"));
}

}  // namespace bfly::dataplane
