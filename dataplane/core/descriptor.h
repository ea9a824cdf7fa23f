// SPDX-License-Identifier: Apache-2.0
// A descriptor travels inside the fabric in place of the frame.
#pragma once

#include <cstdint>
#include <type_traits>

#include "topologies/tag.h"

struct rte_mbuf;

namespace bfly::dataplane {

// Two times travel with a packet, both TSC: birth and arrival. A packet's journey took ArrivalOf(d)
// - d.time. This time is computed from sizes, rates and delays, and does not depend on when a
// worker looked.
struct Descriptor {
  WireTag tag;     // the next hop's port is the top bit (topologies/tag.h)
  rte_mbuf* mbuf;  // the frame, which belongs to the holder of the descriptor; null if synthetic
  uint64_t time : 60;  // birth: when the packet was injected (for a paced source: when it was due)
  uint64_t priority : 3 = 0;  // 0..7; higher goes first on links that serve by priority
  // 1: the tag says the port of each hop. 0: it says only the direction, and if a direction has
  // several ports, the node picks one.
  uint64_t fixed : 1 = 0;
  uint32_t row;    // where the packet is
  uint16_t bytes;  // frame length without FCS
  uint16_t
      input;  // low 16 bits of the input row, for counters of circuits; not used for forwarding
  // When the packet reached the node at which it is. Links with a rate or a delay write it; other
  // links take no time. 0: the packet has crossed no link with a rate or a delay, so its arrival is
  // its birth.
  uint64_t arrival = 0;
};
static_assert(sizeof(Descriptor) == 40 && std::is_trivially_copyable_v<Descriptor>);

inline uint64_t ArrivalOf(const Descriptor& d) { return d.arrival != 0 ? d.arrival : d.time; }

// Every Inlet and Outlet handles at most this many descriptors per call.
inline constexpr int kBurst = 64;

}  // namespace bfly::dataplane
