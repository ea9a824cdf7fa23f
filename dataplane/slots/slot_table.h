// SPDX-License-Identifier: Apache-2.0
// Which circuit each input row has in each slot. Control builds a table, workers only read it.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/slots/schedule_config.h"
#include "dataplane/slots/slot_clock.h"
#include "dataplane/slots/turn_back.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

class SlotTable {
 public:
  // The caller has checked `config`. The times come from `clock`, not from `config`.
  SlotTable(const Network& network, const ScheduleConfig& config, const SlotClock& clock);

  // Moves the origin of the clock, before workers see the table.
  void StartAt(uint64_t origin) { clock_.set_origin(origin); }
  // The most bytes that a table takes for a circuit, those that the constructor frees again
  // included.
  static constexpr uint64_t kBytesPerCircuit = sizeof(WireTag) + 7 * sizeof(uint32_t);

  const SlotClock& clock() const { return clock_; }
  uint32_t slots() const { return slots_; }
  uint32_t rows() const { return rows_; }
  LatePolicy late() const { return late_; }
  const TagsByIntermediateRow& by_intermediate_row() const { return by_intermediate_row_; }

  // The tag of the row's circuit in the slot; 0: the row has no circuit.
  WireTag tag(uint32_t slot, Row row) const { return tags_[Index(slot, row)]; }
  // Whether a packet with this tag goes to the output of the circuit. Two paths lead to one output
  // if and only if their last `dimension` directions agree.
  bool LeadsThere(WireTag circuit, WireTag tag) const {
    return circuit != 0 && ((circuit ^ tag) & end_) == 0;
  }

  // The first slot of the cycle in which the row's circuit leads to the output of `tag`. Packets of
  // one pair of rows wait in the queue of that slot, also if several slots of the cycle serve the
  // pair.
  static constexpr uint32_t kNoSlot = UINT32_MAX;
  uint32_t FirstSlot(Row row, WireTag tag) const {
    for (size_t at = Hash(row, tag & end_);; at = (at + 1) & mask_) {
      const uint32_t found = found_[at];
      if (found == kNoSlot) return kNoSlot;
      if ((found & (rows_ - 1)) == row && LeadsThere(tags_[found], tag)) return found >> row_bits_;
    }
  }
  // The queue that the slot serves at the row.
  uint32_t QueueOf(uint32_t slot, Row row) const {
    return first_.empty() ? slot : first_[Index(slot, row)];
  }
  // The next slot of the cycle that serves the same queue of the row: the slot itself if no other
  // one does.
  uint32_t NextSame(uint32_t slot, Row row) const {
    return next_.empty() ? slot : next_[Index(slot, row)];
  }

 private:
  size_t Index(uint32_t slot, Row row) const { return size_t{slot} << row_bits_ | row; }
  size_t Hash(Row row, WireTag end) const {
    return static_cast<size_t>((end ^ (uint64_t{row} * 0x9e3779b97f4a7c15)) * 0xd6e8feb86659fd93 >>
                               hash_shift_);
  }
  void Link();

  SlotClock clock_;
  uint32_t slots_;
  uint32_t rows_;
  int row_bits_;
  LatePolicy late_;
  TagsByIntermediateRow by_intermediate_row_;
  WireTag end_;                // the directions of the last `dimension` hops
  std::vector<WireTag> tags_;  // one for each slot and row
  // Indices of tags_. The hash of a row and the end of its tag is the place. Half of the places are
  // empty.
  std::vector<uint32_t> found_;
  size_t mask_ = 0;
  int hash_shift_ = 0;
  // One for each slot and row. Empty if every row has a different output in every slot.
  std::vector<uint32_t> first_, next_;
};

}  // namespace bfly::dataplane
