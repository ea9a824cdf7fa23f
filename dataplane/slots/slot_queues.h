// SPDX-License-Identifier: Apache-2.0
// The packets that wait at consecutive input rows: a bounded queue for each row and slot (a
// calendar queue). One worker uses the queues. The constructor takes all memory.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/row_range.h"
#include "dataplane/slots/slot_table.h"

namespace bfly::dataplane {

class SlotQueues {
 public:
  // `rows` lie within the network. At most `per_queue` packets wait in one queue and `total` in
  // all.
  SlotQueues(std::shared_ptr<const SlotTable> table, RowRange rows, uint32_t per_queue,
             uint32_t total);

  // The bytes that queues take for `circuits` slots times rows and for `total` packets.
  static uint64_t Bytes(uint64_t circuits, uint64_t total) {
    return circuits * sizeof(Queue) + total * sizeof(Place);
  }

  enum class Answer { kTaken, kQueueFull, kNoMemory };
  // `queue` is SlotTable::FirstSlot of the packet.
  Answer Push(uint32_t queue, const Descriptor& packet);
  bool empty(uint32_t queue, Row row) const { return queues_[Index(queue, row)].count == 0; }
  // The queue must not be empty.
  Descriptor Pop(uint32_t queue, Row row);

  uint64_t held() const { return held_; }

  bool has_packets(uint32_t slot) const;
  // The next row with packets that `slot` serves. The search begins at `from` and goes on at the
  // first row. kNoRow: there is no such row. `from` is one of the rows.
  static constexpr Row kNoRow = UINT32_MAX;
  Row NextWithPackets(uint32_t slot, Row from) const;

  // Takes out all packets, each queue in its order. Rows are read only where packets wait.
  template <class Take>
  void Drain(Take&& take) {
    for (uint32_t slot = 0; slot < table_->slots() && held_ > 0; ++slot) {
      if (!has_packets(slot)) continue;
      for (uint32_t i = 0; i < rows_; ++i) {
        while (!empty(slot, first_ + i)) take(slot, Pop(slot, first_ + i));
      }
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Queue {
    uint32_t head = kNone;
    uint32_t tail = kNone;
    uint32_t count = 0;
  };
  struct Place {
    Descriptor packet;
    uint32_t next;
  };
  // The rows with packets that `slot` serves: bit i of word w stands for row first + 64 w + i.
  const uint64_t* rows_with_packets(uint32_t slot) const { return &bits_[size_t{slot} * words_]; }
  size_t Index(uint32_t slot, Row row) const { return size_t{slot} * rows_ + (row - first_); }
  // Notes for all slots that serve the queue whether it has packets.
  void Mark(uint32_t queue, Row row, bool has_packets);

  const std::shared_ptr<const SlotTable> table_;
  const Row first_;
  const uint32_t rows_;
  const uint32_t per_queue_;
  const size_t words_;
  std::vector<Queue> queues_;   // one for each slot and row
  std::vector<uint64_t> bits_;  // words_ words for each slot
  std::vector<Place> places_;
  uint32_t free_ = kNone;  // the first free place
  uint64_t held_ = 0;
};

}  // namespace bfly::dataplane
