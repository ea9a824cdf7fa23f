// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/timed_links.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "dataplane/stages/stage.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

constexpr double kLongest = 4e18;

// Adds `ticks` to a time of whole ticks and a part of one.
void Add(double ticks, uint64_t& time, double& part) {
  // What is left to serve may be below nothing by rounding.
  part += std::max(ticks, 0.0);
  // A packet among very many at a very low rate is not done for centuries.
  const double whole = std::min(std::floor(part), kLongest);
  time += static_cast<uint64_t>(whole);
  part = whole < kLongest ? part - whole : 0;
}

}  // namespace

TimedLinks::TimedLinks(uint32_t links, uint64_t first_of_stage, PacketStore* store, LinkCold* cold,
                       uint64_t seed, uint32_t first_link)
    : first_link_(first_link),
      first_of_stage_(first_of_stage),
      seed_(seed),
      store_(store),
      cold_(cold),
      links_(std::make_unique<Link[]>(links)),
      counters_(std::make_unique<TimedCounters[]>(links)),
      events_(links) {}

void TimedLinks::SetTable(const ShapeTable* table, uint64_t now) {
  const ShapeTable* const before = std::exchange(table_, table);
  if (before == nullptr) return;
  for (uint32_t i = 0; i < events_.size(); ++i) {
    const uint32_t number = events_.link_at(i);
    Link& link = links_[number];
    const ServedLink& old = before->of(first_link_ + number);
    Advance(link, old, counters_[number], now);
    const Discipline discipline = table->of(first_link_ + number).discipline;
    if (discipline != old.discipline) ChangeDiscipline(link, old.discipline, discipline, now);
  }
  // Scheduling moves events: the heap is gone through from a copy of its links.
  const auto active = std::make_unique<uint32_t[]>(events_.size());
  const uint32_t count = events_.size();
  for (uint32_t i = 0; i < count; ++i) active[i] = events_.link_at(i);
  for (uint32_t i = 0; i < count; ++i) Schedule(active[i]);
}

void TimedLinks::ChangeDiscipline(Link& link, Discipline from, Discipline to, uint64_t now) {
  // In the order they came: through a heap where all keys are equal.
  uint32_t order = 0;
  while (link.waiting > 0) {
    const uint32_t entry = NextWaiting(link, from);
    store_->at(entry).key = 0;
    order = store_->HeapAdd(order, entry);
  }
  if (from == Discipline::kProcessorSharing || to == Discipline::kProcessorSharing) {
    if (link.free < now) {
      link.free = now;
      link.part = 0;
    }
    link.served = 0;
  }
  while (order != 0) {
    const uint32_t entry = order;
    order = store_->HeapWithoutTop(order);
    Wait(link, to, entry);
  }
}

void TimedLinks::Wait(Link& link, Discipline discipline, uint32_t entry) {
  StoredPacket& stored = store_->at(entry);
  ++link.waiting;
  if (discipline == Discipline::kFifo) {
    stored.next = 0;
    if (link.waiting == 1) {
      link.first_waiting = entry;
    } else {
      store_->at(link.last_waiting).next = entry;
    }
    link.last_waiting = entry;
    return;
  }
  // Bytes served are not negative, and such doubles are ordered as their bits are.
  stored.key = discipline == Discipline::kPriority
                   ? 15 - stored.packet.priority
                   : std::bit_cast<uint64_t>(link.served + stored.packet.bytes);
  link.first_waiting = store_->HeapAdd(link.waiting == 1 ? 0 : link.first_waiting, entry);
}

uint32_t TimedLinks::NextWaiting(Link& link, Discipline discipline) {
  const uint32_t entry = link.first_waiting;
  link.first_waiting =
      discipline == Discipline::kFifo ? store_->at(entry).next : store_->HeapWithoutTop(entry);
  --link.waiting;
  return entry;
}

// Works out what the link did until `now`.
void TimedLinks::Advance(Link& link, const ServedLink& served, TimedCounters& counters,
                         uint64_t now) {
  if (served.discipline == Discipline::kProcessorSharing) return Share(link, served, counters, now);
  while (link.waiting > 0 && (link.free < now || (link.free == now && link.part == 0))) {
    Send(link, served, counters, NextWaiting(link, served.discipline));
  }
}

// Virtual time is `served`: while n packets are there it grows by a byte in n times the time that
// sending a byte takes, and a packet of b bytes that comes at v leaves at v + b (Parekh and
// Gallager 1993).
void TimedLinks::Share(Link& link, const ServedLink& served, TimedCounters& counters,
                       uint64_t now) {
  while (link.waiting > 0) {
    const double finish = std::bit_cast<double>(store_->at(link.first_waiting).key);
    const double ticks_per_byte = served.ticks_per_byte * link.waiting;
    uint64_t free = link.free;
    double part = link.part;
    Add((finish - link.served) * ticks_per_byte, free, part);
    if (free > now || (free == now && part > 0)) {
      if (link.free < now) {
        link.served += (static_cast<double>(now - link.free) - link.part) / ticks_per_byte;
        link.free = now;
        link.part = 0;
      }
      return;
    }
    link.free = free;
    link.part = part;
    link.served = finish;
    const uint32_t entry = NextWaiting(link, served.discipline);
    Bump(counters.busy,
         static_cast<uint64_t>(store_->at(entry).packet.bytes * served.ticks_per_byte));
    Depart(link, served, entry);
  }
  link.served = 0;
  if (link.free < now) {
    link.free = now;
    link.part = 0;
  }
}

void TimedLinks::Send(Link& link, const ServedLink& served, TimedCounters& counters,
                      uint32_t entry) {
  const StoredPacket& stored = store_->at(entry);
  const uint64_t arrival = ArrivalOf(stored.packet);
  if (link.free < arrival) {
    link.free = arrival;
    link.part = 0;
  }
  const double ticks = stored.packet.bytes * served.ticks_per_byte;
  Add(ticks, link.free, link.part);
  Bump(counters.busy, static_cast<uint64_t>(ticks));
  Depart(link, served, entry);
}

// At link.free, which is rounded up: nothing leaves early.
void TimedLinks::Depart(Link& link, const ServedLink& served, uint32_t entry) {
  StoredPacket& stored = store_->at(entry);
  stored.key = link.free + (link.part > 0 ? 1 : 0) + served.delay;
  stored.next = 0;
  if (link.sent++ == 0) {
    link.first_sent = entry;
  } else {
    StoredPacket& before = store_->at(link.last_sent);
    // A wire that was made shorter does not let packets overtake.
    stored.key = std::max(stored.key, before.key);
    before.next = entry;
  }
  link.last_sent = entry;
}

bool TimedLinks::IsFull(const Link& link, const ServedLink& served) {
  const bool shared = served.discipline == Discipline::kProcessorSharing;
  return served.queue_limit != 0 && link.waiting >= served.queue_limit + (shared ? 1 : 0);
}

TimedLinks::Standing TimedLinks::At(uint32_t of_stage, uint64_t arrival) {
  const uint32_t number = of_stage - first_link_;
  const ServedLink& served = Served(number);
  Link& link = links_[number];
  Advance(link, served, counters_[number], arrival);
  Standing found{.packets = link.waiting, .has_room = !IsFull(link, served)};
  const bool sends = link.free > arrival || (link.free == arrival && link.part > 0);
  // Under processor sharing all that are served wait.
  if (served.discipline == Discipline::kProcessorSharing || !sends) return found;
  ++found.packets;
  found.free = link.free;
  found.part = link.part;
  return found;
}

void TimedLinks::Enter(const Descriptor& packet, uint32_t of_stage, Ledger& ledger) {
  const uint32_t number = of_stage - first_link_;
  const ServedLink& served = Served(number);
  Link& link = links_[number];
  const uint64_t arrival = ArrivalOf(packet);
  Advance(link, served, counters_[number], arrival);
  if (IsFull(link, served)) {
    Bump<uint64_t>(cold_[number].queue_full, 1);
    ledger.Drop(DropReason::kQueueFull);
    rte_pktmbuf_free(packet.mbuf);
    return;
  }
  const uint32_t entry = store_->Take();
  if (entry == 0) {
    Bump<uint64_t>(counters_[number].no_memory, 1);
    ledger.Drop(DropReason::kQueueMemory);
    rte_pktmbuf_free(packet.mbuf);
    return;
  }
  StoredPacket& stored = store_->at(entry);
  stored.packet = packet;
  stored.sequence = sequence_++ & ((uint64_t{1} << 56) - 1);
  ++held_;
  const bool idle = link.free < arrival || (link.free == arrival && link.part == 0);
  const bool shared = served.discipline == Discipline::kProcessorSharing;
  if (!shared && link.waiting == 0 && idle) {
    Send(link, served, counters_[number], entry);
  } else {
    Wait(link, served.discipline, entry);
  }
  CountOccupancy(number);
  Schedule(number);
}

int TimedLinks::Release(uint64_t now, Descriptor* out, int room, Ledger& ledger) {
  LatencyHistogram* const latency = latency_.load(std::memory_order_acquire);
  int count = 0;
  while (count < room && !events_.empty() && events_.time() <= now) {
    const uint32_t number = events_.link();
    Link& link = links_[number];
    const ServedLink& served = Served(number);
    Advance(link, served, counters_[number], events_.time());
    if (link.sent > 0 && store_->at(link.first_sent).key <= now) {
      const uint32_t entry = link.first_sent;
      const StoredPacket& stored = store_->at(entry);
      link.first_sent = stored.next;
      --link.sent;
      if (served.loss != 0 && IsLost(number, served)) {
        Bump<uint64_t>(counters_[number].lost, 1);
        ledger.Drop(DropReason::kLoss);
        rte_pktmbuf_free(stored.packet.mbuf);
      } else {
        if (latency != nullptr) latency->AddBetween(ArrivalOf(stored.packet), stored.key);
        out[count] = stored.packet;
        out[count++].arrival = stored.key;
      }
      store_->Give(entry);
      --held_;
      CountOccupancy(number);
    }
    Schedule(number);
  }
  return count;
}

bool TimedLinks::IsLost(uint32_t number, const ServedLink& served) {
  // 2^27 links of a network, 2^37 packets of each.
  const uint64_t draw = (first_of_stage_ + first_link_ + number) << 37 | links_[number].drawn++;
  return RandomBlock(seed_, RandomStream::kLinkLoss, draw)[0] < served.loss;
}

void TimedLinks::Schedule(uint32_t number) {
  const Link& link = links_[number];
  if (link.sent > 0) return events_.Set(number, store_->at(link.first_sent).key);
  if (link.waiting == 0) return events_.Remove(number);
  const ServedLink& served = Served(number);
  uint64_t time = link.free;
  double part = link.part;
  if (served.discipline == Discipline::kProcessorSharing) {
    const double finish = std::bit_cast<double>(store_->at(link.first_waiting).key);
    Add((finish - link.served) * (served.ticks_per_byte * link.waiting), time, part);
    time += served.delay;
  }
  events_.Set(number, time + (part > 0 ? 1 : 0));
}

void TimedLinks::CountOccupancy(uint32_t number) {
  LinkCold& cold = cold_[number];
  const uint32_t occupancy = links_[number].waiting + links_[number].sent;
  cold.occupancy.store(occupancy, std::memory_order_relaxed);
  if (occupancy > cold.peak.load(std::memory_order_relaxed)) {
    cold.peak.store(occupancy, std::memory_order_relaxed);
  }
}

uint64_t TimedLinks::Discard() {
  const uint64_t discarded = held_;
  const auto free_entry = [this](uint32_t entry) {
    rte_pktmbuf_free(store_->at(entry).packet.mbuf);
    store_->Give(entry);
  };
  while (!events_.empty()) {
    const uint32_t number = events_.link();
    Link& link = links_[number];
    for (; link.sent > 0; --link.sent) {
      const uint32_t entry = link.first_sent;
      link.first_sent = store_->at(entry).next;
      free_entry(entry);
    }
    while (link.waiting > 0) free_entry(NextWaiting(link, Served(number).discipline));
    cold_[number].occupancy.store(0, std::memory_order_relaxed);
    events_.Remove(number);
  }
  held_ = 0;
  return discarded;
}

}  // namespace bfly::dataplane
