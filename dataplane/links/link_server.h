// SPDX-License-Identifier: Apache-2.0
// What a link does with the packets that are there, under any discipline and either clock. It knows
// no clock: a caller that has one says until when no further packet comes (Advance), then that a
// packet comes (Send or Wait).
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/links/discipline.h"
#include "dataplane/links/link_time.h"
#include "dataplane/links/stored_packet.h"

namespace bfly::dataplane {

// Store: see stored_packet.h. UrgencyOf(packet) is lowest for the packet that goes first.
template <typename Store>
class LinkServer {
 public:
  // How many packets wait; under processor sharing, how many are at the link.
  uint32_t waiting() const { return waiting_; }
  // When all packets that do not wait have left; under processor sharing, when all packets have
  // left.
  LinkTime free() const { return link_.free(); }

  // Adds a packet that is sent as soon as the link is free. Not under processor sharing, and only
  // if no packet waits.
  LinkTime Send(LinkTime now, LinkTime work) { return link_.Send(now, work); }

  // Adds a packet that comes at `now` and waits, or shares the link. `work` is the time that
  // sending it takes if no other packet is at the link.
  void Wait(Discipline discipline, LinkTime now, LinkTime work, uint32_t entry, Store& store) {
    auto& stored = store.at(entry);
    stored.sequence = came_++ & 0xff'ffffu;
    stored.rank = 1;  // `sequence` and `rank` are written together: memory that is not in cache
                      // need not be read
    if (discipline == Discipline::kProcessorSharing) {
      SetEndOfOnly(store);
      stored.set_full_key(link_.Join(now, work, waiting_));
    } else {
      if (waiting_ == 0) link_.Send(now, 0);  // an idle link is free from `now` on
      if (discipline == Discipline::kPriority) {
        stored.set_full_key(AtTick(UrgencyOf(stored.packet)));
      }
    }
    if (discipline == Discipline::kFifo) return Append(entry, store);
    first_ = HeapWith(store, waiting_++ == 0 ? 0 : first_, entry);
  }

  // No further packet comes before `limit`. Calls leaves(entry, departure) in order for every
  // packet whose departure is now certain. A link that sends one packet at a time decides on
  // packets that begin to be sent before `limit`; sending one takes work(entry). A shared link
  // decides on packets that leave before `limit`.
  template <typename Work, typename Leaves>
  void Advance(Discipline discipline, LinkTime limit, Store& store, const Work& work,
               const Leaves& leaves) {
    if (discipline == Discipline::kProcessorSharing) return AdvanceShared(limit, store, leaves);
    while (waiting_ > 0 && free() < limit) {
      const uint32_t entry = TakeNext(discipline, store);
      leaves(entry, link_.Send(0, work(entry)));
    }
  }

  // Under processor sharing, with packets there: when the next packet leaves if no other packet
  // comes.
  LinkTime NextDeparture(Store& store) const {
    return link_.NextDeparture(store.at(first_).full_key(), waiting_);
  }

  // Takes out the packet that is next.
  uint32_t TakeNext(Discipline discipline, Store& store) {
    const uint32_t entry = first_;
    first_ = discipline == Discipline::kFifo ? store.at(entry).next : HeapWithoutTop(store, entry);
    --waiting_;
    return entry;
  }

  // Changes the discipline at `now`, after Advance was called with the limit `now`. Waiting packets
  // keep their order. If either discipline is processor sharing, they start over when the link is
  // free.
  template <typename Work>
  void ChangeDiscipline(Discipline from, Discipline to, LinkTime now, Store& store,
                        const Work& work) {
    // A packet may still be sent that came when the link was not shared.
    const LinkTime start = std::max(now, waiting_ == 0 ? link_.free() : link_.last());
    uint32_t order = 0;  // a heap where all keys are equal: its order is the order of arrival
    while (waiting_ > 0) {
      const uint32_t entry = TakeNext(from, store);
      store.at(entry).set_full_key(0);
      order = HeapWith(store, order, entry);
    }
    if (from == Discipline::kProcessorSharing) {
      link_ = Sharing();
      link_.Send(start, 0);
    }
    while (order != 0) {
      const uint32_t entry = order;
      order = HeapWithoutTop(store, entry);
      Wait(to, now, work(entry), entry, store);
    }
  }

  // Changes the rate at `now`, after Advance was called with the limit `now`: a packet that took
  // the time `before` to send takes `after`. Sending an entry from its beginning takes
  // work_of(entry). Only under processor sharing.
  template <typename Work>
  void ChangeRate(LinkTime now, LinkTime before, LinkTime after, Store& store,
                  const Work& work_of) {
    if (waiting_ == 0) return;
    if (before == 0) {  // no part of a packet has been sent yet
      constexpr auto kShared = Discipline::kProcessorSharing;
      return ChangeDiscipline(kShared, kShared, now, store, work_of);
    }
    const long double factor = static_cast<long double>(after) / static_cast<long double>(before);
    SetEndOfOnly(store);
    const LinkTime sent = link_.ShareUntil(now, waiting_), start = link_.last();
    link_ = Sharing();
    uint32_t scaled = 0, count = 0;
    while (waiting_ > 0) {
      const uint32_t entry = TakeNext(Discipline::kProcessorSharing, store);
      const auto left = static_cast<long double>(store.at(entry).full_key() - sent);
      const auto work = static_cast<LinkTime>(left * factor);
      store.at(entry).set_full_key(link_.Join(start, work, count++));
      scaled = HeapWith(store, scaled, entry);
    }
    first_ = scaled;
    waiting_ = count;
  }

 private:
  void Append(uint32_t entry, Store& store) {
    if (waiting_++ == 0) {
      first_ = entry;
    } else {
      store.at(last_waiting_).next = entry;
    }
    last_waiting_ = entry;
  }

  void SetEndOfOnly(Store& store) {
    if (waiting_ == 1) store.at(first_).set_full_key(link_.EndOfOnly());
  }

  template <typename Leaves>
  void AdvanceShared(LinkTime limit, Store& store, const Leaves& leaves) {
    while (waiting_ > 0) {
      const LinkTime departure = NextDeparture(store);
      if (departure >= limit) return;
      link_.Depart(store.at(first_).full_key(), departure);
      leaves(TakeNext(Discipline::kProcessorSharing, store), departure);
    }
  }

  Sharing link_;
  uint32_t first_ = 0;         // the next packet: the first one of a list, or the top of a heap
  uint32_t last_waiting_ = 0;  // the last packet of the list
  uint32_t waiting_ = 0;
  uint32_t came_ = 0;  // how many packets have come and waited, modulo 2^32
};

}  // namespace bfly::dataplane
