// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/timed_change.h"

#include <algorithm>

namespace bfly::dataplane {

void TimedChange::ServeAgain() {
  const std::vector<Changed> changed = TakeWaiting();
  const bool any_waits = std::any_of(changed.begin(), changed.end(),
                                     [](const Changed& one) { return one.waiting.count > 0; });
  if (any_waits) {
    links_.calendar_.TakeOut(links_.packets_, [this](uint32_t entry) {
      const StoredPacket& stored = links_.packets_.at(entry);
      if (stored.rank == kServedAgain) return true;
      TimedLink& link = links_.links_[stored.link];
      link.latest = std::max(link.latest, stored.key);
      return false;
    });
  }
  for (const Changed& one : changed) Serve(one);
}

// The links with packets whose times change. Their packets that wait are marked.
std::vector<TimedChange::Changed> TimedChange::TakeWaiting() {
  std::vector<Changed> changed;
  for (uint32_t number = 0; number < links_.count_; ++number) {
    TimedLink& link = links_.links_[number];
    if (link.packets == 0) continue;
    const ServedLink& old = Old(number);
    if (old.SameTimes(links_.Served(number))) continue;
    Changed& one = changed.emplace_back(Changed{number, {}});
    if (old.discipline != Discipline::kFifo) {
      links_.Advance(number, old, now_);
      continue;
    }
    links_.WaitingAt(link, old, now_);
    one.waiting = link.fifo.TakeWaiting();
    Mark(number, one.waiting);
  }
  return changed;
}

// Marks packets that wait at a FIFO link and must be served by other settings.
void TimedChange::Mark(uint32_t number, Waiting waiting) {
  if (waiting.count == 0) return;
  TimedLink& link = links_.links_[number];
  uint64_t unsent = 0;
  for (uint32_t entry = waiting.first; waiting.count > 0; --waiting.count) {
    StoredPacket& stored = links_.packets_.at(entry);
    stored.rank = kServedAgain;
    unsent += TimedCounters::BusyOf(Old(number).SendTime(stored.packet.bytes));
    entry = stored.next;
  }
  link.latest = 0;  // ServeAgain finds the latest arrival among the other packets
  links_.counters_[number].AddBusy(uint64_t{0} - unsent, TickNotBefore(link.fifo.free()));
}

void TimedChange::Serve(const Changed& changed) {
  const uint32_t number = changed.number;
  StoredPackets& packets = links_.packets_;
  TimedLink& link = links_.links_[number];
  TimedServer& server = links_.servers_[number];
  const ServedLink& old = Old(number);
  const ServedLink& served = links_.Served(number);
  const auto work = links_.WorkAt(served);
  const bool was_fifo = old.discipline == Discipline::kFifo;
  const bool is_fifo = served.discipline == Discipline::kFifo;
  if (was_fifo && !is_fifo) {
    server = TimedServer();
    server.Send(link.fifo.free(), 0);
  }
  Waiting waiting = changed.waiting;
  for (uint32_t entry = waiting.first; waiting.count > 0; --waiting.count) {
    const uint32_t next = packets.at(entry).next;
    if (is_fifo) {
      links_.SendAgain(number, entry, now_);
    } else {
      server.Wait(Discipline::kFifo, AtTick(now_), work(entry), entry, packets);
    }
    entry = next;
  }
  if (was_fifo && is_fifo) return;
  const LinkTime free = server.free();
  if (served.discipline != old.discipline) {
    server.ChangeDiscipline(old.discipline, served.discipline, AtTick(now_), packets, work);
  } else if (served.discipline == Discipline::kProcessorSharing &&
             served.byte_time != old.byte_time) {
    server.ChangeRate(AtTick(now_), old.byte_time, served.byte_time, packets, work);
  }
  NoteShared(number, free);
  if (is_fifo) {
    link.fifo.BeFreeAt(server.free());
    while (server.waiting() > 0) {
      links_.SendAgain(number, server.TakeNext(Discipline::kFifo, packets), now_);
    }
  }
  links_.Schedule(number);
}

// Counts what the packets that share a link still need by the new settings, and no longer what they
// needed by the old ones. `free`: when the link would have sent all by the old ones.
void TimedChange::NoteShared(uint32_t number, LinkTime free) {
  const auto until = [this](LinkTime time) {
    return TimedCounters::BusyOf(std::max(time, AtTick(now_)));
  };
  const LinkTime now_free = links_.servers_[number].free();
  links_.counters_[number].AddBusy(until(now_free) - until(free), TickNotBefore(now_free));
}

}  // namespace bfly::dataplane
