// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/timed_passage.h"

#include <algorithm>

#include "dataplane/stages/stage.h"

namespace bfly::dataplane {

bool TimedPassage::Count(TimedArrays arrays, uint32_t first_link, const ShapeTable& table,
                         const uint32_t* links, int count) {
  const ServedLink* const all = table.of_all();
  if (all == nullptr || all->discipline != Discipline::kFifo || all->loss != 0) return false;
  TimedLink* const of_stage = arrays.links;
  uint32_t most = 0;
  for (int i = 0; i < count; ++i) most = std::max(most, ++of_stage[links[i] - first_link].packets);
  // Whoever waits is on the link.
  if (all->queue_limit == 0 || most <= all->queue_limit) return true;
  for (int i = 0; i < count; ++i) --of_stage[links[i] - first_link].packets;
  return false;
}

void TimedPassage::NotePeak(TimedArrays arrays, uint32_t number) {
  arrays.links[number].NotePeak(arrays.cold[number]);
}

// Packets leave a link after all have come, as if Release had taken them.
void TimedPassage::Leave(TimedArrays arrays, uint32_t first_link, const uint32_t* links,
                         size_t count) {
  const bool some_stay = order_.count() < count;
  for (size_t i = 0; i < order_.count(); ++i) {
    const uint32_t number = links[order_.place(i)] - first_link;
    const uint32_t occupancy = --arrays.links[number].packets;
    if (some_stay) arrays.cold[number].occupancy.store(occupancy, std::memory_order_relaxed);
  }
}

}  // namespace bfly::dataplane
