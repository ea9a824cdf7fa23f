// SPDX-License-Identifier: Apache-2.0
// Stands between the inlets and the first hop of a segment's rows. While a schedule runs, packets
// that have no circuit of their own enter while their slot is on, and wait here until it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/core/ring.h"
#include "dataplane/core/row_range.h"
#include "dataplane/runtime/grace_period.h"
#include "dataplane/slots/slot_counts.h"
#include "dataplane/slots/slot_queues.h"
#include "dataplane/slots/slot_table.h"

namespace bfly::dataplane {

// One schedule at the rows of one gate. Control makes it, then the worker alone uses it.
class SlotRun {
 public:
  SlotRun(std::shared_ptr<const SlotTable> table, RowRange rows, uint32_t per_queue, uint32_t total,
          std::shared_ptr<SlotCounts> counts);

  // Begins a pass at TSC `now`: the slot that is on then is the current one.
  void Begin(uint64_t now) {
    now_ = now;
    if (now >= end_) StepTo(now);
  }
  // Begins a pass, if that was not done, and fills in at most `room` packets that waited for the
  // slot that is on.
  int Release(uint64_t now, Descriptor* batch, int room);
  // Decides on packets that came in the pass, each by the time at which it came. Packets that enter
  // now stay in the burst, in their order; returns how many these are.
  int Admit(Descriptor* burst, int count, Ledger& ledger);
  // Has the packet wait for a slot to its output, or drops it.
  void Put(const Descriptor& packet, Ledger& ledger);
  // Has a packet that turned back wait for a slot to its output, or drops it.
  void PutBack(Descriptor packet, Ledger& ledger) {
    packet.tag = table_->by_intermediate_row().Rest(packet.tag);
    packet.fixed = 0;
    Put(packet, ledger);
  }

  // Continues where the previous run stood, in the middle of a slot. Both runs have the same clock
  // and the same SlotCounts.
  void GoOnFrom(const SlotRun& before);
  // Takes a packet that waited in the queue `slot` of the previous run, as Put does. But a packet
  // that waited to go by an intermediate row still waits for that.
  void TakeOver(const SlotRun& before, uint32_t slot, const Descriptor& packet, Ledger& ledger);

  uint64_t held() const { return queues_.held(); }
  // The TSC at which the next slot begins, if packets wait.
  uint64_t NextDue() const { return held() > 0 ? end_ : UINT64_MAX; }
  // Takes out all packets that wait. They do not enter any more.
  template <class Take>
  void Drain(Take&& take) {
    queues_.Drain([&](uint32_t slot, const Descriptor& packet) {
      counts_->slots[slot].EndWaits(1);
      take(slot, packet);
    });
  }
  SlotCounts& counts() { return *counts_; }
  // Packets of this run that went by an intermediate row.
  uint64_t sent_by_intermediate_row() const { return sent_by_intermediate_row_; }

 private:
  // The most frames of one row that enter one after the other before another row has its turn.
  static constexpr int kInTurn = 16;

  void StepTo(uint64_t now);
  // Counts the slots from `first` to before `end` for which packets wait.
  void PassOver(uint64_t first, uint64_t end);
  void Enter(Descriptor& packet);
  void PutForNextSlot(const Descriptor& packet, Ledger& ledger);
  void PutInQueue(uint32_t queue, const Descriptor& packet, Ledger& ledger);
  int ReleaseFrom(Row row, Descriptor* batch, int room);

  const std::shared_ptr<const SlotTable> table_;
  SlotQueues queues_;
  const std::shared_ptr<SlotCounts> counts_;
  const Row first_row_, last_row_;
  std::vector<uint64_t> used_in_;  // for each row: the last slot in which a packet entered, plus 1
  uint64_t used_ = 0;              // rows from which a packet entered in this slot
  uint64_t now_ = 0;               // the TSC at which this pass began
  uint64_t slot_ = 0;              // the number of this slot since the origin
  uint32_t index_ = 0;             // the place of slot_ in its cycle
  uint64_t begin_ = 0, close_ = 0, end_ = 0;  // TSC times of this slot
  bool ready_ = false;                        // packets may wait for this slot
  // Packets waited when the slot began, and Release was not called since.
  bool late_is_due_ = false;
  Row next_row_;  // the row whose turn it is
  uint64_t sent_by_intermediate_row_ = 0;
};

class SlotGate {
 public:
  // `worker` is the epoch of the worker that uses the gate.
  SlotGate(RowRange rows, PassEpoch* worker) : rows_(rows), worker_(worker) {}

  // Worker: takes up the run that was published last. Packets that wait go over to it, or are
  // dropped if the schedule has ended. The worker calls it before it answers its epoch.
  void Refresh(Ledger& ledger);
  // Worker: null while no schedule runs.
  SlotRun* run() const { return current_; }
  // Worker: whether packets may wait or turn back here. If not, the calls up to NextDue need not be
  // made.
  bool in_use() const { return current_ != nullptr || back_ != nullptr; }
  // Worker: begins a pass at TSC `now`, and fills in at most `room` packets whose slot is on now.
  int Release(uint64_t now, Descriptor* batch, int room, Ledger& ledger);
  // Worker: as SlotRun::Admit.
  int Admit(Descriptor* burst, int count, Ledger& ledger) {
    return current_ != nullptr ? current_->Admit(burst, count, ledger) : count;
  }
  uint64_t held() const { return current_ != nullptr ? current_->held() : 0; }
  uint64_t NextDue() const { return current_ != nullptr ? current_->NextDue() : UINT64_MAX; }
  // The thread that unloads: frees the packets that wait and returns how many there were.
  uint64_t Discard();
  // The thread that unloads: drops the packets that are turning back.
  void DiscardTurningBack(Ledger& ledger);

  // Control: `run` is used from now on. It must stay until another run was published and the worker
  // has then answered its epoch.
  void Publish(SlotRun* run) { wanted_.store(run, std::memory_order_release); }
  // Control, once: packets turn back by these rings while SetTurnBack says so. They stay until the
  // worker has ended.
  void AddWaysBack(std::vector<Ring*> rings) { rings_ = std::move(rings); }
  void SetTurnBack(bool on) {
    wanted_back_.store(on ? &rings_ : nullptr, std::memory_order_release);
  }
  // Control, after the worker answered its epoch: how many packets of the previous runs went by an
  // intermediate row.
  uint64_t sent_by_intermediate_row() const {
    return sent_by_intermediate_row_.load(std::memory_order_acquire);
  }
  RowRange rows() const { return rows_; }
  PassEpoch* worker() const { return worker_; }

 private:
  void TakeBack(Ring& ring, Ledger& ledger);

  const RowRange rows_;
  PassEpoch* const worker_;
  std::atomic<SlotRun*> wanted_{nullptr};  // control: writes, worker: acquire loads
  SlotRun* current_ = nullptr;             // worker only
  std::vector<Ring*> rings_;
  // Control: writes, worker: acquire loads.
  std::atomic<const std::vector<Ring*>*> wanted_back_{nullptr};
  const std::vector<Ring*>* back_ = nullptr;           // worker only
  std::atomic<uint64_t> sent_by_intermediate_row_{0};  // worker: writes, control: acquire loads
};

}  // namespace bfly::dataplane
