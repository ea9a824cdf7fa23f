// SPDX-License-Identifier: Apache-2.0
#include "dataplane/traffic/source_inlet.h"

#include <rte_cycles.h>

#include <algorithm>

namespace bfly::dataplane {

SourceInlet::~SourceInlet() = default;

void SourceInlet::Refresh() {
  Set* const wanted = wanted_.load(std::memory_order_acquire);
  if (wanted == current_) return;
  current_ = wanted;
  knows_due_ = false;
  turn_ = 0;
}

int SourceInlet::Receive(Descriptor* burst, int room, Ledger& ledger) {
  if (current_ == nullptr || current_->sources.empty()) return 0;
  knows_due_ = false;
  return EmitInTurn(burst, room, rte_rdtsc(), /*timed=*/true, ledger);
}

int SourceInlet::ReceiveInOrder(Descriptor* burst, int room, Ledger& ledger) {
  if (current_ == nullptr || current_->sources.size() < 2) return Receive(burst, room, ledger);
  if (!knows_due_) NoteDue();
  const EventHeap& due = current_->due;
  const uint64_t now = rte_rdtsc();
  const int count = EmitInOrder(burst, room, now, ledger);
  const bool all_are_timed = due.size() == current_->sources.size();
  // A packet that is born now comes after those that were due before.
  if (all_are_timed || (!due.empty() && due.time() <= now)) return count;
  return count + EmitInTurn(burst + count, room - count, now, /*timed=*/false, ledger);
}

void SourceInlet::NoteDue() {
  for (uint32_t i = 0; i < current_->sources.size(); ++i) {
    const uint64_t next = current_->sources[i]->NextDue();
    next == UINT64_MAX ? current_->due.Remove(i) : current_->due.Set(i, next);
  }
  knows_due_ = true;
}

int SourceInlet::EmitInOrder(Descriptor* burst, int room, uint64_t now, Ledger& ledger) {
  EventHeap& due = current_->due;
  int count = 0;
  // Sources may find only packets that they do not send, so the bound limits how long a pass takes.
  for (int asked = 0; asked < 4 * room && count < room && !due.empty() && due.time() <= now;
       ++asked) {
    const uint32_t first = due.link();
    const uint64_t born = due.time();
    due.Remove(first);
    const uint64_t until = due.empty() ? now : std::min(now, due.time());
    Source& source = *current_->sources[first];
    int sent = source.Emit(burst + count, room - count, until, now, routes_, ledger);
    uint64_t next = source.NextDue();
    const auto stands = [&] { return sent == 0 && next == born; };
    if (stands()) {
      // A source with constant gaps sends a packet that is due within this tick a tick later.
      sent = source.Emit(burst + count, 1, now, routes_, ledger);
      next = source.NextDue();
    }
    count += sent;
    if (next != UINT64_MAX) due.Set(first, next);
    // If the source has looked at as many packets as it may, the others must wait for the rest.
    if (next < until || stands()) break;
  }
  return count;
}

int SourceInlet::EmitInTurn(Descriptor* burst, int room, uint64_t now, bool timed, Ledger& ledger) {
  const std::vector<std::shared_ptr<Source>>& sources = current_->sources;
  int count = 0;
  for (size_t asked = 0; asked < sources.size() && count < room; ++asked) {
    turn_ = turn_ + 1 >= sources.size() ? 0 : turn_ + 1;
    Source& source = *sources[turn_];
    if (!timed && source.NextDue() != UINT64_MAX) continue;
    count += source.Emit(burst + count, room - count, now, routes_, ledger);
  }
  return count;
}

uint64_t SourceInlet::NextDue() const {
  uint64_t due = UINT64_MAX;
  if (current_ == nullptr) return due;
  if (knows_due_) return current_->due.empty() ? due : current_->due.time();
  for (const auto& source : current_->sources) due = std::min(due, source->NextDue());
  return due;
}

}  // namespace bfly::dataplane
