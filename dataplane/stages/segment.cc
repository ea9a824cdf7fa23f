// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/segment.h"

#include <algorithm>

namespace bfly::dataplane {

void Segment::SetExits(Exits exits) {
  exits_ = std::move(exits);
  batch_ = std::make_unique<Descriptor[]>(kBatch);
}

bool Segment::blocked() const {
  return std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.blocked(); });
}

void Segment::Run(Account& account) {
  if (blocked()) return;
  Descriptor* const batch = batch_ ? batch_.get() : lanes_[0].batch();
  int count = Gather(batch, account);
  if (count == 0) return;
  for (size_t hop = 0; hop < hops_.size(); ++hop) {
    const bool waits_on_it = !batch_ && hop + 1 == hops_.size();
    uint32_t* const links = waits_on_it ? lanes_[0].batch_links() : nullptr;
    count = hops_[hop]->Cross(batch, count, links, account.ledger);
  }
  if (batch_) {
    Scatter(batch, count);
  } else {
    lanes_[0].SetCount(count);
  }
}

// Goes round the inlets, a burst from each, until the batch is full or a whole round found nothing.
int Segment::Gather(Descriptor* batch, Account& account) {
  const size_t inlets = inlets_.size();
  int count = 0;
  size_t i = next_inlet_;
  for (size_t empty = 0; empty < inlets && count < kBatch;) {
    const Entrance& from = inlets_[i];
    const uint64_t taken_over = account.ledger.taken_over;
    const int n =
        from.inlet->Receive(batch + count, std::min(kBurst, kBatch - count), account.ledger);
    if (from.trunk) account.trunk_in += account.ledger.taken_over - taken_over;
    count += n;
    empty = n == 0 ? empty + 1 : 0;
    i = i + 1 == inlets ? 0 : i + 1;
  }
  next_inlet_ = i;
  return count;
}

void Segment::Scatter(const Descriptor* batch, int count) {
  for (int i = 0; i < count; ++i) {
    const std::vector<uint16_t>& lanes = exits_.choices[exits_.choice_of_row[batch[i].row]];
    // Packets of one input keep to one lane, and so their order.
    lanes_[lanes.size() == 1 ? lanes[0] : lanes[batch[i].input % lanes.size()]].Add(batch[i]);
  }
}

uint64_t Segment::held() const {
  uint64_t sum = 0;
  for (const Lane& lane : lanes_) sum += lane.held();
  return sum;
}

uint64_t Segment::Discard() {
  uint64_t sum = 0;
  for (Lane& lane : lanes_) sum += lane.Discard();
  return sum;
}

}  // namespace bfly::dataplane
