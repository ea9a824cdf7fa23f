// SPDX-License-Identifier: Apache-2.0
// A segment's pass if links take time.
#include <rte_cycles.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "dataplane/stages/segment.h"

namespace bfly::dataplane {
namespace {

// Sorts the batch by arrival. Packets of several inlets are in order only within each inlet.
void SortByArrival(Descriptor* batch, int count) {
  const auto before = [](const Descriptor& a, const Descriptor& b) {
    return ArrivalOf(a) < ArrivalOf(b);
  };
  if (std::is_sorted(batch, batch + count, before)) return;
  std::array<std::pair<uint64_t, int>, kBatch> order;
  for (int i = 0; i < count; ++i) order[static_cast<size_t>(i)] = {ArrivalOf(batch[i]), i};
  std::sort(order.begin(), order.begin() + count);
  std::array<Descriptor, kBatch> unsorted;
  std::copy_n(batch, count, unsorted.begin());
  for (int i = 0; i < count; ++i) {
    batch[i] = unsorted[static_cast<size_t>(order[static_cast<size_t>(i)].second)];
  }
}

}  // namespace

static_assert(kBatch <= TimedLinks::kMostLast);

bool Segment::IsTimed() const {
  return std::any_of(hops_.begin(), hops_.end(),
                     [](const Stage* stage) { return stage->timed() != nullptr; });
}

void Segment::TakeInEarly(Account& account) {
  // If segments share stages, one segment may fill the room of another before the other one runs.
  if (room_ > 0 && !entrances_.within_worker() && next_hops_.empty() && IsTimed())
    GatherTimed(account);
}

// A pass takes in at most as many packets as it puts out, so packets that are once left over would
// be left for ever if packets never ceased to come. If segments share stages, their lanes may wait
// for one another in a circle, so such a segment never ceases to take packets in.
void Segment::GatherTimed(Account& account) {
  Descriptor* const batch = arriving_[0].get();
  came_ = left_over_ ? 0 : entrances_.GatherForTimed(batch, kBatch, account);
  SortByArrival(batch, came_);
}

void Segment::RunTimed(uint64_t now, Account& account, LatenessMeter& lateness) {
  if (room_ == 0) return;
  // Without timed hops the lanes must have room for the packets that come in.
  if (!IsTimed()) return Run(account);
  sampling_ = IsSampled();
  if (came_ == kNotTakenIn) GatherTimed(account);
  // What a late worker has not taken in yet must find the links as they were when it arrived.
  if (next_hops_.empty()) now = std::min(now, std::max(now_, entrances_.NoneBefore()));
  now_ = now;
  for (size_t hop = 0; hop < hops_.size(); ++hop) {
    if (hops_[hop]->timed() == nullptr) continue;
    hops_[hop]->timed()->ExpectRelease(now);
    last_timed_ = hop;
  }
  if (came_ > 0) Carry(0, arriving_[0].get(), came_, Batch::kLast, account);
  size_t buffer = 0;
  left_over_ = false;
  for (size_t hop = 0; hop < hops_.size(); ++hop) {
    TimedLinks* const links = hops_[hop]->timed();
    if (links == nullptr) continue;
    // Packets that stay in their batch (TimedLinks::EnterLast) are in the other array.
    buffer = 1 - buffer;
    Descriptor* const batch = arriving_[buffer].get();
    for (int room; (room = RoomBehindTimed()) > 0 && links->NextRelease() <= now;) {
      const uint64_t since = sampling_ ? rte_rdtsc() : 0;
      const int count = links->Release(now, batch, room, account.ledger);
      const uint64_t released = rte_rdtsc();
      if (since != 0) samples_[hop].single.Add(0, released - since);
      lateness.AddSince(released, count, [batch](int i) { return batch[i].arrival; });
      CarryOn(hop, batch, count, links->NextRelease() > now ? Batch::kLast : Batch::kOneOfSeveral,
              account);
    }
    left_over_ = left_over_ || (next_hops_.empty() && links->NextRelease() <= now);
  }
}

int Segment::RoomBehindTimed() const {
  int room = room_;
  for (const NextHop& next : next_hops_) {
    if (next.segment != nullptr) room = std::min(room, next.segment->room_);
  }
  return room;
}

// Carries packets from the node of `hop` to the next timed links, or out.
void Segment::Carry(size_t hop, Descriptor* batch, int count, Batch is, Account& account) {
  uint64_t since = sampling_ ? rte_rdtsc() : 0;
  while (hop < hops_.size() && count > 0) {
    if (const size_t crossed = CrossFused(hop, batch, count); crossed != 0) {
      NoteHops(hop, crossed, count, since);
      hop += crossed;
      continue;
    }
    Stage& stage = *hops_[hop];
    TimedLinks* const timed = stage.timed();
    if (timed != nullptr && stage.picks()) {
      count = EnterOneByOne(stage, batch, count, account);
      return NoteHops(hop, 1, count, since);
    }
    const bool needs_links = timed != nullptr || hop + 1 == hops_.size();
    uint32_t* const links = needs_links ? links_.get() : nullptr;
    if (timed != nullptr) {
      count = stage.CrossToTimed(batch, count, links, account.ledger);
      Enter(hop, batch, count, is, account.ledger);
      return NoteHops(hop, 1, count, since);
    }
    count = stage.Cross(batch, count, links, account.ledger);
    NoteHops(hop, 1, count, since);
    ++hop;
  }
  const bool waits_on_link = hop > 0 && hops_.back()->timed() == nullptr;
  PutOut(batch, waits_on_link ? links_.get() : nullptr, count);
}

// Puts a batch on its `links_` of a timed hop. Packets may stay in the batch if all that leave the
// hop in this pass have room, and if no other batch comes to the hop.
void Segment::Enter(size_t hop, Descriptor* batch, int count, Batch is, Ledger& ledger) {
  TimedLinks& timed = *hops_[hop]->timed();
  const auto room = static_cast<size_t>(room_);
  if (is == Batch::kLast && next_hops_.empty() &&
      (hop < last_timed_ || timed.due() + static_cast<size_t>(count) <= room)) {
    timed.EnterLast(batch, links_.get(), count, now_, ledger);
  } else {
    timed.Enter(batch, links_.get(), count, ledger);
  }
}

// If nodes pick among ports, a packet's links depend on the packets before it.
int Segment::EnterOneByOne(Stage& stage, Descriptor* batch, int count, Account& account) {
  int crossed = 0;
  for (int i = 0; i < count; ++i) {
    uint32_t link;
    if (stage.CrossToTimed(&batch[i], 1, &link, account.ledger) == 0) continue;
    stage.timed()->Enter(batch[i], link, account.ledger);
    ++crossed;
  }
  return crossed;
}

// Carries packets on from behind the timed links of `hop`.
void Segment::CarryOn(size_t hop, Descriptor* batch, int count, Batch is, Account& account) {
  if (next_hops_.empty()) return Carry(hop + 1, batch, count, is, account);
  for (int i = 0; i < count; ++i) {
    // A one bit stands below the bits of the hops to come (topologies/tag.h).
    const size_t hops_left = 63 - static_cast<size_t>(std::countr_zero(batch[i].tag));
    const NextHop& next = next_hops_[next_hops_.size() - 1 - hops_left];
    next.segment->Carry(next.index, &batch[i], 1, Batch::kOneOfSeveral, account);
  }
}

void Segment::PutOut(const Descriptor* batch, const uint32_t* links, int count) {
  room_ -= count;
  if (batch_) {
    Scatter(batch, links, count);
  } else {
    lanes_[0].Append(batch, links, count);
  }
}

}  // namespace bfly::dataplane
