// SPDX-License-Identifier: Apache-2.0
// The inner loop of the virtual clock: one node, FIFO links.
//
// Packets reach a node over two links, each list in order of time. Merging them gives the order of
// arrival; a packet joins the link its tag names and leaves it at
//   D = max(departure of the packet before it, its arrival) + service
// (Lindley's recursion, Stamoulis & Tsitsiklis, proof of Lemma 7). Ties go to the first list.
#pragma once

#include <algorithm>

#include "dataplane/virtual_clock/boundary.h"

namespace bfly::dataplane {

struct FifoLane {
  const VirtualPacket* first;  // what is left of the two lists
  const VirtualPacket* second;
  VirtualPacket* out[2];  // where the next departure of each port goes
  Ticks free[2];          // when each port's link has sent all it was given
  Ticks service[2];
  Ticks delay = 0;  // sum of departure - arrival

  // Moves one packet over the node. There is no branch: which list and which port come next is as
  // good as random, and one misprediction costs more than the whole step.
  void Step() {
    const bool from_first = first->time <= second->time;
    const VirtualPacket* packet = from_first ? first : second;
    first += from_first;
    second += !from_first;
    const unsigned port = packet->tag >> 63;
    const Ticks arrival = packet->time;
    const Ticks departure = std::max(free[port], arrival) + service[port];
    free[port] = departure;
    delay += departure - arrival;
    VirtualPacket* place = out[port];
    out[port] = place + 1;
    place->time = departure;
    place->birth = packet->birth;
    place->tag = packet->tag << 1;
  }
};

// Two nodes in turn: each is one chain of dependent loads, and two chains overlap.
inline void RunLanes(FifoLane& x, uint32_t x_packets, FifoLane& y, uint32_t y_packets) {
  FifoLane a = x, b = y;  // copies, so that the compiler knows no packet is one of them
  const uint32_t both = std::min(x_packets, y_packets);
  for (uint32_t i = 0; i < both; ++i) {
    a.Step();
    b.Step();
  }
  for (uint32_t i = both; i < x_packets; ++i) a.Step();
  for (uint32_t i = both; i < y_packets; ++i) b.Step();
  x = a;
  y = b;
}

}  // namespace bfly::dataplane
