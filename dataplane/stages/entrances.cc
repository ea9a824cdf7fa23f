// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/entrances.h"

#include <rte_cycles.h>

#include <algorithm>

namespace bfly::dataplane {

inline int Entrances::ReceiveFrom(const Entrance& from, Descriptor* packets, int room,
                                  bool in_order, Account& account) {
  const uint64_t taken_over = account.ledger.taken_over;
  const int most = std::min(kBurst, room);
  const int n = in_order ? from.inlet->ReceiveInOrder(packets, most, account.ledger)
                         : from.inlet->Receive(packets, most, account.ledger);
  if (from.trunk) account.trunk_in += account.ledger.taken_over - taken_over;
  if (from.counted) polls_.Add(n);
  return n;
}

int Entrances::Gather(Descriptor* batch, int room, bool leaves, Account& account) {
  if (gated_) [[unlikely]]
    return GatherBySlots(batch, room, account);
  const Entrance* const from = doors_.current().inlets.data();
  const size_t inlets = doors_.current().inlets.size();
  int count = 0;
  size_t i = next_inlet_;
  for (size_t empty = 0; empty < inlets && count < room;) {
    const int n = ReceiveFrom(from[i], batch + count, room - count, /*in_order=*/false, account);
    count += n;
    if (leaves && count >= kBurst && batch[0].mbuf != nullptr) room = count;
    empty = n == 0 ? empty + 1 : 0;
    i = i + 1 == inlets ? 0 : i + 1;
  }
  next_inlet_ = i;
  return count;
}

int Entrances::GatherForTimed(Descriptor* batch, int room, Account& account) {
  const std::vector<Entrance>& inlets = doors_.current().inlets;
  if (gated_ || inlets.size() != 1) return Gather(batch, room, /*leaves=*/false, account);
  int count = 0;
  for (int n = 1; n > 0 && count < room; count += n) {
    n = ReceiveFrom(inlets[0], batch + count, room - count, /*in_order=*/true, account);
  }
  return count;
}

// Gathers while a schedule runs. Packets that waited for their slot come first. They leave the
// inlets half of the room, so that packets that need not wait come in beside any backlog. Inlets
// give no more packets than there was room for then, even if no packet enters, so that a pass ends.
int Entrances::GatherBySlots(Descriptor* batch, int room, Account& account) {
  const std::vector<Entrance>& inlets = doors_.current().inlets;
  int count =
      gate_->Release(rte_rdtsc(), batch, inlets.empty() ? room : (room + 1) / 2, account.ledger);
  int taken = count;
  size_t i = next_inlet_;
  for (size_t empty = 0; empty < inlets.size() && taken < room;) {
    const int n = ReceiveFrom(inlets[i], batch + count, room - taken, /*in_order=*/false, account);
    count += gate_->Admit(batch + count, n, account.ledger);
    taken += n;
    empty = n == 0 ? empty + 1 : 0;
    i = i + 1 == inlets.size() ? 0 : i + 1;
  }
  next_inlet_ = i;
  waiting_ = gate_->held();
  return count;
}

bool Entrances::Has(const Inlet* inlet) const {
  const std::vector<Inlet*>& inlets = doors_.offered().behind;
  return std::find(inlets.begin(), inlets.end(), inlet) != inlets.end();
}

std::shared_ptr<const void> Entrances::Change(const std::vector<Inlet*>& added,
                                              const std::vector<Inlet*>& removed) {
  const auto has = [](const std::vector<Inlet*>& inlets, const Inlet* inlet) {
    return std::find(inlets.begin(), inlets.end(), inlet) != inlets.end();
  };
  const Doors& before = doors_.offered();
  auto doors = std::make_shared<Doors>();
  for (size_t i = 0; i < before.behind.size(); ++i) {
    if (!has(removed, before.behind[i])) doors->Add(before.behind[i], before.inlets[i].trunk);
  }
  for (Inlet* inlet : added) doors->Add(inlet, false);
  return doors_.Offer(std::move(doors));
}

void Entrances::Replace(const Doors& old, const Doors& next, Ledger& ledger) {
  for (Inlet* inlet : old.behind) {
    if (std::find(next.behind.begin(), next.behind.end(), inlet) == next.behind.end()) {
      inlet->Leave(ledger);
    }
  }
  next_inlet_ = 0;
}

void Entrances::Refresh(Ledger& ledger) {
  doors_.TakeUp([&](const Doors& old, const Doors& next) { Replace(old, next, ledger); });
  Doors& doors = doors_.current();
  for (size_t i = 0; i < doors.inlets.size(); ++i) doors.inlets[i].inlet = doors.behind[i]->Front();
  if (gate_ == nullptr) return;
  gate_->Refresh(ledger);
  gated_ = gate_->in_use();
  waiting_ = gate_->held();
}

uint64_t Entrances::NextDue() const {
  uint64_t next = gated_ ? gate_->NextDue() : UINT64_MAX;
  for (const Entrance& from : doors_.current().inlets) next = std::min(next, from.inlet->NextDue());
  return next;
}

uint64_t Entrances::Discard() {
  waiting_ = 0;
  return gate_ != nullptr ? gate_->Discard() : 0;
}

}  // namespace bfly::dataplane
