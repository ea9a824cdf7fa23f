// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/timed_passage.h"

#include <algorithm>

#include "dataplane/stages/stage.h"

namespace bfly::dataplane {

bool TimedPassage::Count(TimedArrays arrays, uint32_t first_link, const ServedLink& served,
                         const uint32_t* links, int count) {
  TimedLink* const of_stage = arrays.links;
  uint32_t most = 0;
  for (int i = 0; i < count; ++i) most = std::max(most, ++of_stage[links[i] - first_link].packets);
  // Every packet that waits is on the link.
  if (served.queue_limit == 0 || most <= served.queue_limit) return true;
  for (int i = 0; i < count; ++i) --of_stage[links[i] - first_link].packets;
  return false;
}

void TimedPassage::NotePeak(TimedLink* link, LinkCold* cold, uint32_t number) {
  link->NotePeak(cold[number]);
}

void TimedPassage::NoteOccupancy(LinkCold* cold, uint32_t number, uint32_t packets) {
  cold[number].occupancy.store(packets, std::memory_order_relaxed);
}

// Keeps the packets of the batch from number `first` of the order on.
void TimedPassage::KeepFrom(size_t first, TimedArrays arrays, uint32_t first_link,
                            const uint32_t* links) {
  const auto arrival = [this, first](size_t i) { return order_.TickOf(first + i); };
  const auto write = [&](size_t i, LaterPacket& later) {
    const uint32_t place = order_.place(first + i);
    const uint32_t number = links[place] - first_link;
    later.packet = batch_[place];
    later.arrival = order_.TickOf(first + i);
    later.link = number;
    arrays.cold[number].occupancy.store(arrays.links[number].packets, std::memory_order_relaxed);
  };
  later_.Add(order_.count() - first, arrival, write);
}

// The first `count` packets of the order leave their links after all packets have come, as if
// Release had taken them.
void TimedPassage::Leave(size_t count, TimedArrays arrays, uint32_t first_link,
                         const uint32_t* links, bool some_stay) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t number = links[order_.place(i)] - first_link;
    const uint32_t occupancy = --arrays.links[number].packets;
    if (some_stay) NoteOccupancy(arrays.cold, number, occupancy);
  }
}

}  // namespace bfly::dataplane
