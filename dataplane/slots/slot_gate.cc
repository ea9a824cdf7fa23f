// SPDX-License-Identifier: Apache-2.0
#include "dataplane/slots/slot_gate.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

namespace bfly::dataplane {
namespace {

void DropPacket(const Descriptor& packet, DropReason reason, Ledger& ledger) {
  ledger.Drop(reason);
  rte_pktmbuf_free(packet.mbuf);
}

}  // namespace

SlotRun::SlotRun(std::shared_ptr<const SlotTable> table, RowRange rows, uint32_t per_queue,
                 uint32_t total, std::shared_ptr<SlotCounts> counts)
    : table_(std::move(table)),
      queues_(table_, rows, per_queue, total),
      counts_(std::move(counts)),
      first_row_(rows.first),
      last_row_(rows.last),
      used_in_(rows.last - rows.first + 1),
      next_row_(rows.first) {}

void SlotRun::StepTo(uint64_t now) {
  const SlotClock& clock = table_->clock();
  const bool first = end_ == 0;
  Bump(counts_->slots[index_].used, used_);
  const uint64_t slot = !first && now < clock.Begin(slot_ + 2) ? slot_ + 1 : clock.At(now);
  // Admit may have stepped into a slot that ended before the next pass.
  if (!first && held() > 0) PassOver(late_is_due_ ? slot_ : slot_ + 1, slot);
  index_ = !first && slot == slot_ + 1 ? (index_ + 1 == table_->slots() ? 0 : index_ + 1)
                                       : static_cast<uint32_t>(slot % table_->slots());
  slot_ = slot;
  used_ = 0;
  begin_ = clock.Begin(slot);
  close_ = clock.Close(slot);
  end_ = clock.Begin(slot + 1);
  ready_ = held() > 0 && queues_.has_packets(index_);
  late_is_due_ = ready_ && !first;
}

void SlotRun::PassOver(uint64_t first, uint64_t end) {
  const uint64_t slots = table_->slots();
  const uint64_t last = std::min(end, first + slots);
  for (uint64_t slot = first; slot < last; ++slot) {
    if (queues_.has_packets(static_cast<uint32_t>(slot % slots)))
      counts_->looks.PassOver(slot, end);
  }
}

int SlotRun::Release(uint64_t now, Descriptor* batch, int room) {
  Begin(now);
  if (late_is_due_ && now >= begin_) {
    counts_->looks.Look(slot_, now - begin_);
    late_is_due_ = false;
  }
  if (!ready_ || now < begin_ || now >= close_) return 0;
  int count = 0;
  while (count < room) {
    const Row row = queues_.NextWithPackets(index_, next_row_);
    if (row == SlotQueues::kNoRow) {
      ready_ = false;
      break;
    }
    count += ReleaseFrom(row, batch + count, std::min(kInTurn, room - count));
    next_row_ = row == last_row_ ? first_row_ : row + 1;
  }
  return count;
}

int SlotRun::ReleaseFrom(Row row, Descriptor* batch, int room) {
  const uint32_t queue = table_->QueueOf(index_, row);
  int count = 0;
  uint64_t waited = 0, longest = counts_->longest_wait.load(std::memory_order_relaxed);
  for (; count < room && !queues_.empty(queue, row); ++count) {
    Descriptor& packet = batch[count] = queues_.Pop(queue, row);
    const uint64_t arrival = ArrivalOf(packet);
    const uint64_t wait = now_ > arrival ? now_ - arrival : 0;
    waited += wait;
    longest = std::max(longest, wait);
    // The packet reaches the first link when its slot begins, however late the worker looks.
    packet.arrival = std::max(arrival, begin_);
    Enter(packet);
  }
  SlotCounts::Slot& counts = counts_->slots[index_];
  Bump(counts.waited, static_cast<uint64_t>(count));
  Bump(counts.wait_ticks, static_cast<double>(waited));
  counts_->slots[queue].EndWaits(static_cast<uint64_t>(count));
  counts_->longest_wait.store(longest, std::memory_order_relaxed);
  return count;
}

void SlotRun::Enter(Descriptor& packet) {
  const WireTag circuit = table_->tag(index_, packet.row);
  if (table_->LeadsThere(circuit, packet.tag)) {
    packet.tag = circuit;
  } else {
    packet.tag = table_->by_intermediate_row().Join(circuit, packet.tag);
    Bump(counts_->by_intermediate_row, 1);
    ++sent_by_intermediate_row_;
  }
  packet.fixed = 1;
  SlotCounts::Slot& counts = counts_->slots[index_];
  Bump(counts.frames, 1);
  Bump(counts.bytes, packet.bytes);
  uint64_t& used_in = used_in_[packet.row - first_row_];
  if (used_in == slot_ + 1) return;
  used_in = slot_ + 1;
  ++used_;
}

int SlotRun::Admit(Descriptor* burst, int count, Ledger& ledger) {
  const bool by_any_row = table_->late() == LatePolicy::kVlb;
  int entered = 0;
  for (int i = 0; i < count; ++i) {
    Descriptor& packet = burst[i];
    if (packet.fixed == 0) {
      // A pass takes time: the packet may have come in the guard, or in a later slot.
      const uint64_t came = std::max(now_, ArrivalOf(packet));
      if (came >= end_) {
        now_ = came;
        StepTo(now_);
      }
      const bool open = came >= begin_ && came < close_;
      const WireTag circuit = table_->tag(index_, packet.row);
      const bool leads_there = table_->LeadsThere(circuit, packet.tag);
      // Packets of a pair keep their order as long as they all go straight to their output.
      const bool may = leads_there ? queues_.empty(table_->QueueOf(index_, packet.row), packet.row)
                                   : by_any_row && circuit != 0;
      if (!open || !may) {
        by_any_row && !(open && leads_there) ? PutForNextSlot(packet, ledger) : Put(packet, ledger);
        continue;
      }
      // The packet may have come before the slot began, and the pass may have begun only after
      // that.
      packet.arrival = std::max(ArrivalOf(packet), begin_);
      Enter(packet);
    }
    burst[entered++] = packet;
  }
  return entered;
}

// A packet that may go by any row waits no longer than for the next circuit of its row.
void SlotRun::PutForNextSlot(const Descriptor& packet, Ledger& ledger) {
  const uint32_t next = now_ < begin_ ? index_ : index_ + 1 == table_->slots() ? 0 : index_ + 1;
  if (table_->tag(next, packet.row) == 0) return Put(packet, ledger);
  PutInQueue(table_->QueueOf(next, packet.row), packet, ledger);
}

void SlotRun::Put(const Descriptor& packet, Ledger& ledger) {
  const uint32_t queue = table_->FirstSlot(packet.row, packet.tag);
  if (queue == SlotTable::kNoSlot) {
    Bump(counts_->no_slot, 1);
    return DropPacket(packet, DropReason::kNoSlot, ledger);
  }
  if (table_->late() == LatePolicy::kDrop) {
    Bump(counts_->slots[queue].missed, 1);
    return DropPacket(packet, DropReason::kSlotMissed, ledger);
  }
  PutInQueue(queue, packet, ledger);
}

void SlotRun::GoOnFrom(const SlotRun& before) {
  used_in_ = before.used_in_;
  used_ = before.used_;
  now_ = before.now_;
  slot_ = before.slot_;
  index_ = before.index_;
  begin_ = before.begin_;
  close_ = before.close_;
  end_ = before.end_;
  late_is_due_ = before.late_is_due_;
  next_row_ = before.next_row_;
}

void SlotRun::TakeOver(const SlotRun& before, uint32_t slot, const Descriptor& packet,
                       Ledger& ledger) {
  // Packets that turned back wait for a circuit to their output, so no packet goes by a second
  // intermediate row.
  const WireTag circuit = before.table_->tag(slot, packet.row);
  const bool by_any_row =
      table_->late() == LatePolicy::kVlb && !before.table_->LeadsThere(circuit, packet.tag);
  if (by_any_row && slot < table_->slots() && table_->tag(slot, packet.row) != 0) {
    return PutInQueue(table_->QueueOf(slot, packet.row), packet, ledger);
  }
  if (by_any_row && table_->FirstSlot(packet.row, packet.tag) == SlotTable::kNoSlot) {
    for (uint32_t other = 0; other < table_->slots(); ++other) {
      if (table_->tag(other, packet.row) == 0) continue;
      return PutInQueue(table_->QueueOf(other, packet.row), packet, ledger);
    }
  }
  Put(packet, ledger);
}

void SlotRun::PutInQueue(uint32_t queue, const Descriptor& packet, Ledger& ledger) {
  SlotCounts::Slot& counts = counts_->slots[queue];
  switch (queues_.Push(queue, packet)) {
    case SlotQueues::Answer::kTaken:
      Bump(counts.waiting, 1);
      ready_ = ready_ || queue == table_->QueueOf(index_, packet.row);
      return;
    case SlotQueues::Answer::kQueueFull:
      Bump(counts.full, 1);
      return DropPacket(packet, DropReason::kSlotFull, ledger);
    case SlotQueues::Answer::kNoMemory:
      Bump(counts_->no_memory, 1);
      return DropPacket(packet, DropReason::kQueueMemory, ledger);
  }
}

int SlotGate::Release(uint64_t now, Descriptor* batch, int room, Ledger& ledger) {
  // Packets that turned back did not wait for the slots before this pass.
  if (current_ != nullptr) current_->Begin(now);
  if (back_ != nullptr) {
    for (Ring* ring : *back_) TakeBack(*ring, ledger);
  }
  return current_ != nullptr ? current_->Release(now, batch, room) : 0;
}

void SlotGate::TakeBack(Ring& ring, Ledger& ledger) {
  Descriptor burst[kBurst];
  // Packets that come meanwhile wait for the next pass, so that this pass ends.
  for (uint32_t left = ring.waiting(); left > 0;) {
    const uint32_t count = ring.Pop(burst, std::min<uint32_t>(left, kBurst));
    left -= count;
    ledger.taken_over += count;
    for (uint32_t i = 0; i < count; ++i) {
      if (current_ != nullptr) {
        current_->PutBack(burst[i], ledger);
      } else {
        DropPacket(burst[i], DropReason::kSlotMissed, ledger);
      }
    }
  }
}

void SlotGate::Refresh(Ledger& ledger) {
  back_ = wanted_back_.load(std::memory_order_acquire);
  SlotRun* const wanted = wanted_.load(std::memory_order_acquire);
  if (wanted == current_) return;
  SlotRun* const before = std::exchange(current_, wanted);
  if (before == nullptr) return;
  Bump(sent_by_intermediate_row_, before->sent_by_intermediate_row());
  if (wanted != nullptr && &wanted->counts() == &before->counts()) wanted->GoOnFrom(*before);
  before->Drain([&](uint32_t slot, const Descriptor& packet) {
    if (wanted != nullptr) return wanted->TakeOver(*before, slot, packet, ledger);
    Bump(before->counts().slots[slot].missed, 1);
    DropPacket(packet, DropReason::kSlotMissed, ledger);
  });
}

void SlotGate::DiscardTurningBack(Ledger& ledger) {
  for (Ring* ring : rings_) {
    Descriptor burst[kBurst];
    while (const uint32_t count = ring->Pop(burst, kBurst)) {
      ledger.taken_over += count;
      for (uint32_t i = 0; i < count; ++i) DropPacket(burst[i], DropReason::kUnloaded, ledger);
    }
  }
}

uint64_t SlotGate::Discard() {
  if (current_ == nullptr) return 0;
  uint64_t count = 0;
  current_->Drain([&count](uint32_t, const Descriptor& packet) {
    rte_pktmbuf_free(packet.mbuf);
    ++count;
  });
  return count;
}

}  // namespace bfly::dataplane
