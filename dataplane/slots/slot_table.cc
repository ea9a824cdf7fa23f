// SPDX-License-Identifier: Apache-2.0
#include "dataplane/slots/slot_table.h"

#include <bit>

namespace bfly::dataplane {

SlotTable::SlotTable(const Network& network, const ScheduleConfig& config, const SlotClock& clock)
    : clock_(clock),
      slots_(static_cast<uint32_t>(config.tags.size())),
      rows_(network.rows()),
      row_bits_(network.dimension()),
      late_(config.late),
      by_intermediate_row_(network),
      end_(ToWire(network.tag_layout().Spread(network.rows() - 1), network.tag_layout().bits())) {
  const int bits = network.tag_layout().bits();
  tags_.reserve(size_t{slots_} << row_bits_);
  for (const std::vector<Tag>& slot : config.tags) {
    for (const Tag tag : slot) tags_.push_back(tag == kNoTag ? 0 : ToWire(tag, bits));
  }
  const size_t places = std::bit_ceil(2 * tags_.size());
  mask_ = places - 1;
  hash_shift_ = 64 - std::countr_zero(places);
  found_.assign(places, kNoSlot);
  Link();
}

// Finds for each slot and row the first and the next slot that lead to the same output.
void SlotTable::Link() {
  bool repeats = false;
  std::vector<uint32_t> first(tags_.size()), next(tags_.size()), last(tags_.size());
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    for (Row row = 0; row < rows_; ++row) {
      const size_t index = Index(slot, row);
      const WireTag tag = tags_[index];
      first[index] = next[index] = slot;
      if (tag == 0) continue;
      const uint32_t before = FirstSlot(row, tag);
      if (before == kNoSlot) {
        size_t at = Hash(row, tag & end_);
        while (found_[at] != kNoSlot) at = (at + 1) & mask_;
        found_[at] = static_cast<uint32_t>(index);
        last[index] = slot;
        continue;
      }
      repeats = true;
      const size_t head = Index(before, row);
      first[index] = before;
      next[index] = before;
      next[Index(last[head], row)] = slot;
      last[head] = slot;
    }
  }
  if (!repeats) return;
  first_ = std::move(first);
  next_ = std::move(next);
}

}  // namespace bfly::dataplane
