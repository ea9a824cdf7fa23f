// SPDX-License-Identifier: Apache-2.0
// The inner loop of the virtual clock: one node, FIFO links.
//
// Packets reach a node over two links, each list in order of time. Merging them gives the order of
// arrival; a packet joins the link its tag names and leaves it at
//   D = max(departure of the packet before it, its arrival) + service
// (Lindley's recursion, Stamoulis & Tsitsiklis, proof of Lemma 7). Ties go to the first list.
#pragma once

#include <algorithm>

#include "dataplane/virtual_clock/packet.h"

namespace bfly::dataplane {

// Chooses by arithmetic. Compilers make a branch of a plain choice, and the branch would be as good
// as random.
inline Ticks Select(bool condition, Ticks yes, Ticks no) {
  return no ^ ((yes ^ no) & (Ticks{0} - condition));
}

struct FifoLane {
  const VirtualPacket* first;  // the rest of the two lists
  const VirtualPacket* second;
  VirtualPacket* out[2];  // where the next departure of each port goes
  Ticks free[2];          // when each port's link has sent all packets it was given
  Ticks service[2];
  Ticks delay;  // sum of departure - arrival

  // Moves one packet over the node. There is no branch: which list and which port come next is as
  // good as random, and one misprediction costs more than the whole step.
  void Step() {
    const Ticks first_time = first->time, second_time = second->time;
    const bool from_first = first_time <= second_time;
    const PacketWord word = (from_first ? first : second)->word;
    const Ticks arrival = Select(from_first, first_time, second_time);
    first += from_first;
    second += !from_first;
    const unsigned port = PortOf(word);
    const Ticks before = free[port];
    const Ticks departure = Select(before < arrival, arrival, before) + service[port];
    free[port] = departure;
    delay += departure - arrival;
    VirtualPacket* place = out[port];
    out[port] = place + 1;
    place->time = departure;
    place->word = AfterHop(word);
  }
};

// Runs the lanes in turn: each lane is one chain of dependent loads, and several chains overlap.
template <int kLanes>
inline void RunLanes(FifoLane* lanes, uint32_t steps) {
  // Copies, so that the compiler knows that no store to a packet changes a lane.
  FifoLane local[kLanes];
  for (int k = 0; k < kLanes; ++k) local[k] = lanes[k];
  for (uint32_t i = 0; i < steps; ++i) {
    for (int k = 0; k < kLanes; ++k) local[k].Step();
  }
  for (int k = 0; k < kLanes; ++k) lanes[k] = local[k];
}

}  // namespace bfly::dataplane
