// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/timed_links.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "dataplane/stages/stage.h"
#include "topologies/random.h"

namespace bfly::dataplane {

TimedLinks::TimedLinks(uint32_t links, uint64_t first_of_stage, PacketStore* store, LinkCold* cold,
                       uint64_t seed, uint32_t first_link)
    : first_link_(first_link),
      first_of_stage_(first_of_stage),
      seed_(seed),
      store_(store),
      cold_(cold),
      servers_(std::make_unique<Server[]>(links)),
      wires_(std::make_unique<Wire[]>(links)),
      counters_(std::make_unique<TimedCounters[]>(links)),
      events_(links) {}

void TimedLinks::SetTable(const ShapeTable* table, uint64_t now) {
  const ShapeTable* const before = std::exchange(table_, table);
  if (before == nullptr) return;
  for (uint32_t i = 0; i < events_.size(); ++i) {
    const uint32_t number = events_.link_at(i);
    const ServedLink& old = before->of(first_link_ + number);
    const ServedLink& served = Served(number);
    Advance(number, old, now);
    if (served.discipline != old.discipline) {
      servers_[number].ChangeDiscipline(
          old.discipline, served.discipline, AtTick(now), *store_,
          [&](uint32_t entry) { return served.SendTime(store_->at(entry).packet.bytes); });
    } else if (served.discipline == Discipline::kProcessorSharing &&
               served.byte_time != old.byte_time) {
      servers_[number].ChangeRate(AtTick(now), old.byte_time, served.byte_time, *store_);
    }
  }
  // Scheduling moves events: the heap is gone through from a copy of its links.
  const auto active = std::make_unique<uint32_t[]>(events_.size());
  const uint32_t count = events_.size();
  for (uint32_t i = 0; i < count; ++i) active[i] = events_.link_at(i);
  for (uint32_t i = 0; i < count; ++i) Schedule(active[i]);
}

// Works out what the link did until `now`.
void TimedLinks::Advance(uint32_t number, const ServedLink& served, uint64_t now) {
  servers_[number].Advance(
      served.discipline, AtTick(now) + 1, *store_,
      [&](uint32_t entry) { return served.SendTime(store_->at(entry).packet.bytes); },
      [&](uint32_t entry, LinkTime departure) { Depart(number, served, entry, departure); });
}

void TimedLinks::Depart(uint32_t number, const ServedLink& served, uint32_t entry,
                        LinkTime departure) {
  StoredPacket& stored = store_->at(entry);
  Bump(counters_[number].busy, WholeTick(served.SendTime(stored.packet.bytes)));
  stored.key = TickNotBefore(departure) + served.delay;
  stored.next = 0;
  Wire& wire = wires_[number];
  if (wire.packets++ == 0) {
    wire.first = entry;
  } else {
    StoredPacket& before = store_->at(wire.last);
    // A wire that was made shorter does not let packets overtake.
    stored.key = std::max(stored.key, before.key);
    before.next = entry;
  }
  wire.last = entry;
}

bool TimedLinks::IsFull(const Server& server, const ServedLink& served) {
  const bool shared = served.discipline == Discipline::kProcessorSharing;
  return served.queue_limit != 0 && server.waiting() >= served.queue_limit + (shared ? 1 : 0);
}

TimedLinks::Standing TimedLinks::At(uint32_t of_stage, uint64_t arrival) {
  const uint32_t number = of_stage - first_link_;
  const ServedLink& served = Served(number);
  Advance(number, served, arrival);
  const Server& server = servers_[number];
  Standing found{.packets = server.waiting(), .has_room = !IsFull(server, served)};
  // Under processor sharing all that are served wait.
  const bool shared = served.discipline == Discipline::kProcessorSharing;
  if (shared || server.free() <= AtTick(arrival)) return found;
  ++found.packets;
  found.free = server.free();
  return found;
}

void TimedLinks::Enter(const Descriptor& packet, uint32_t of_stage, Ledger& ledger) {
  const uint32_t number = of_stage - first_link_;
  const ServedLink& served = Served(number);
  Server& server = servers_[number];
  const uint64_t arrival = ArrivalOf(packet);
  Advance(number, served, arrival);
  if (IsFull(server, served)) {
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
  store_->at(entry).packet = packet;
  ++held_;
  const LinkTime now = AtTick(arrival), work = served.SendTime(packet.bytes);
  const bool shared = served.discipline == Discipline::kProcessorSharing;
  if (!shared && server.waiting() == 0 && server.free() <= now) {
    Depart(number, served, entry, server.Send(now, work));
  } else {
    server.Wait(served.discipline, now, work, entry, *store_);
  }
  CountOccupancy(number);
  Schedule(number);
}

int TimedLinks::Release(uint64_t now, Descriptor* out, int room, Ledger& ledger) {
  LatencyHistogram* const latency = latency_.load(std::memory_order_acquire);
  int count = 0;
  while (count < room && !events_.empty() && events_.time() <= now) {
    const uint32_t number = events_.link();
    const ServedLink& served = Served(number);
    Advance(number, served, events_.time());
    Wire& wire = wires_[number];
    if (wire.packets > 0 && store_->at(wire.first).key <= now) {
      const uint32_t entry = wire.first;
      const StoredPacket& stored = store_->at(entry);
      wire.first = stored.next;
      --wire.packets;
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
  const uint64_t draw = (first_of_stage_ + first_link_ + number) << 37 | wires_[number].drawn++;
  return RandomBlock(seed_, RandomStream::kLinkLoss, draw)[0] < served.loss;
}

void TimedLinks::Schedule(uint32_t number) {
  const Wire& wire = wires_[number];
  if (wire.packets > 0) return events_.Set(number, store_->at(wire.first).key);
  const Server& server = servers_[number];
  if (server.waiting() == 0) return events_.Remove(number);
  const ServedLink& served = Served(number);
  // One packet at a time, the next one begins to be sent then and departs.
  const bool shared = served.discipline == Discipline::kProcessorSharing;
  const uint64_t time = TickNotBefore(shared ? server.NextDeparture(*store_) : server.free());
  events_.Set(number, time + (shared ? served.delay : 0));
}

void TimedLinks::CountOccupancy(uint32_t number) {
  LinkCold& cold = cold_[number];
  const uint32_t occupancy = servers_[number].waiting() + wires_[number].packets;
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
    Wire& wire = wires_[number];
    for (; wire.packets > 0; --wire.packets) {
      const uint32_t entry = wire.first;
      wire.first = store_->at(entry).next;
      free_entry(entry);
    }
    Server& server = servers_[number];
    while (server.waiting() > 0) {
      free_entry(server.TakeNext(Served(number).discipline, *store_));
    }
    cold_[number].occupancy.store(0, std::memory_order_relaxed);
    events_.Remove(number);
  }
  held_ = 0;
  return discarded;
}

}  // namespace bfly::dataplane
