// SPDX-License-Identifier: Apache-2.0
// What travels inside the fabric in place of the frame.
#pragma once

#include <cstdint>
#include <type_traits>

#include "topologies/tag.h"

struct rte_mbuf;

namespace bfly::dataplane {

struct Descriptor {
  WireTag tag;     // the next hop's port is the top bit (topologies/tag.h)
  rte_mbuf* mbuf;  // the frame, owned by whoever holds the descriptor; null for a synthetic packet
  uint64_t time;   // TSC when the packet was injected
  uint32_t row;    // where the packet is
  uint16_t bytes;  // frame length without FCS
  uint16_t
      input;  // low 16 bits of the input row, for counters of circuits; not used for forwarding
};
static_assert(sizeof(Descriptor) == 32 && std::is_trivially_copyable_v<Descriptor>);

// Descriptors handled per call; every Inlet and Outlet works in bursts of at most this many.
inline constexpr int kBurst = 64;

}  // namespace bfly::dataplane
