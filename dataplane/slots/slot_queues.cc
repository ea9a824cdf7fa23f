// SPDX-License-Identifier: Apache-2.0
#include "dataplane/slots/slot_queues.h"

#include <algorithm>
#include <bit>

namespace bfly::dataplane {

SlotQueues::SlotQueues(std::shared_ptr<const SlotTable> table, RowRange rows, uint32_t per_queue,
                       uint32_t total)
    : table_(std::move(table)),
      first_(rows.first),
      rows_(rows.last - rows.first + 1),
      per_queue_(per_queue),
      words_((rows_ + 63) / 64),
      queues_(size_t{table_->slots()} * rows_),
      bits_(size_t{table_->slots()} * words_),
      places_(total) {
  for (uint32_t i = 0; i < total; ++i) places_[i].next = i + 1 < total ? i + 1 : kNone;
  if (total > 0) free_ = 0;
}

SlotQueues::Answer SlotQueues::Push(uint32_t queue, const Descriptor& packet) {
  Queue& to = queues_[Index(queue, packet.row)];
  if (to.count >= per_queue_) return Answer::kQueueFull;
  if (free_ == kNone) return Answer::kNoMemory;
  const uint32_t place = free_;
  free_ = places_[place].next;
  places_[place] = {.packet = packet, .next = kNone};
  if (to.count == 0) {
    to.head = place;
    Mark(queue, packet.row, true);
  } else {
    places_[to.tail].next = place;
  }
  to.tail = place;
  ++to.count;
  ++held_;
  return Answer::kTaken;
}

Descriptor SlotQueues::Pop(uint32_t queue, Row row) {
  Queue& from = queues_[Index(queue, row)];
  const uint32_t place = from.head;
  from.head = places_[place].next;
  places_[place].next = free_;
  free_ = place;
  --held_;
  if (--from.count == 0) Mark(queue, row, false);
  return places_[place].packet;
}

bool SlotQueues::has_packets(uint32_t slot) const {
  const uint64_t* const words = rows_with_packets(slot);
  return std::any_of(words, words + words_, [](uint64_t word) { return word != 0; });
}

Row SlotQueues::NextWithPackets(uint32_t slot, Row from) const {
  const uint64_t* const words = rows_with_packets(slot);
  const size_t begin = (from - first_) / 64;
  const uint64_t behind = ~uint64_t{0} << ((from - first_) % 64);
  // The word of `from` is read twice: first for the rows from `from` on, at the end for the rows
  // before `from`.
  for (size_t i = 0; i <= words_; ++i) {
    const size_t at = begin + i < words_ ? begin + i : begin + i - words_;
    const uint64_t rows = words[at] & (i == 0 ? behind : i == words_ ? ~behind : ~uint64_t{0});
    if (rows != 0)
      return first_ + static_cast<Row>(64 * at) + static_cast<Row>(std::countr_zero(rows));
  }
  return kNoRow;
}

void SlotQueues::Mark(uint32_t queue, Row row, bool has_packets) {
  const uint32_t at = row - first_;
  const uint64_t bit = uint64_t{1} << (at % 64);
  uint32_t slot = queue;
  do {
    uint64_t& word = bits_[size_t{slot} * words_ + at / 64];
    word = has_packets ? word | bit : word & ~bit;
    slot = table_->NextSame(slot, row);
  } while (slot != queue);
}

}  // namespace bfly::dataplane
