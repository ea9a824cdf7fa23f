// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/timed_links.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "dataplane/slots/turn_back.h"
#include "dataplane/stages/stage.h"
#include "dataplane/stages/timed_change.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

bool IsFull(const TimedServer& server, const ServedLink& served) {
  const bool shared = served.discipline == Discipline::kProcessorSharing;
  return served.queue_limit != 0 && server.waiting() >= served.queue_limit + (shared ? 1 : 0);
}

// The number of the random number of a packet on a link. It has room for 2^27 links of a network
// and 2^37 packets of each link, whose random numbers then come again.
uint64_t DrawOf(uint64_t link, uint64_t packet) {
  constexpr int kPacketBits = 37;
  return link << kPacketBits | (packet & ((uint64_t{1} << kPacketBits) - 1));
}

}  // namespace

TimedLinks::TimedLinks(uint32_t links, uint64_t first_of_stage, PacketStore* store, LinkCold* cold,
                       uint64_t seed, uint32_t first_link, int tag_bits_behind)
    : first_link_(first_link),
      tag_bits_behind_(tag_bits_behind),
      first_of_stage_(first_of_stage),
      seed_(seed),
      store_(store),
      cold_(cold),
      links_(std::make_unique<TimedLink[]>(links)),
      servers_(std::make_unique<TimedServer[]>(links)),
      counters_(std::make_unique<TimedCounters[]>(links)),
      drops_(std::make_unique<TimedDrops[]>(links)),
      drawn_(std::make_unique<uint64_t[]>(links)),
      events_(links),
      count_(links) {}

void TimedLinks::SetTable(const ShapeTable* table, uint64_t now) {
  const ShapeTable* const before = std::exchange(table_, table);
  if (before == nullptr || held_ == 0) return;
  Spill();
  // While packets are served again, counting_ is not kept.
  TimedChange(*this, *before, now).ServeAgain();
  counting_ = static_cast<uint32_t>(std::count_if(
      &links_[0], &links_[count_], [](const TimedLink& link) { return link.fifo.counts(); }));
}

// Works out which packets a link that is not FIFO has sent until `now`.
void TimedLinks::Advance(uint32_t number, const ServedLink& served, uint64_t now) {
  const auto work = WorkAt(served);
  const auto leaves = [&](uint32_t entry, LinkTime departure) {
    packets_.at(entry).rank = 0;
    const uint64_t tick = TickNotBefore(departure);
    if (served.discipline == Discipline::kPriority)
      counters_[number].AddBusy(TimedCounters::BusyOf(work(entry)), tick);
    Depart(arrays(), number, served, entry, tick);
  };
  servers_[number].Advance(served.discipline, AtTick(now) + 1, packets_, work, leaves);
}

[[gnu::always_inline]] inline void TimedLinks::Depart(TimedArrays arrays, uint32_t number,
                                                      const ServedLink& served, uint32_t entry,
                                                      uint64_t departure) {
  StoredPacket& stored = arrays.packets.at(entry);
  TimedLink& link = arrays.links[number];
  // A delay that was made shorter does not let packets overtake others.
  link.latest = std::max(departure + served.delay, link.latest);
  stored.key = link.latest;
  stored.link = number;
  calendar_.Add(entry, arrays.packets);
}

// Every packet that waits is on the link, so the waiting packets need not be counted if few packets
// are on the link.
inline bool TimedLinks::IsFifoFull(TimedLink& link, const ServedLink& served, uint64_t arrival) {
  return served.queue_limit != 0 && link.packets >= served.queue_limit &&
         WaitingAt(link, served, arrival) >= served.queue_limit;
}

uint32_t TimedLinks::WaitingAt(TimedLink& link, const ServedLink& served, uint64_t now) {
  Spill();
  counting_ += link.fifo.counts() ? 0 : 1;
  return link.fifo.WaitingAt(AtTick(now), packets_, WorkAt(served));
}

TimedLinks::Standing TimedLinks::At(uint32_t of_stage, uint64_t arrival) {
  const uint32_t number = of_stage - first_link_;
  const ServedLink& served = Served(number);
  const LinkTime now = AtTick(arrival);
  Standing found;
  LinkTime free = 0;
  if (served.discipline == Discipline::kFifo) {
    found.packets = WaitingAt(links_[number], served, arrival);
    found.has_room = served.queue_limit == 0 || found.packets < served.queue_limit;
    free = links_[number].fifo.free_of_begun();
  } else {
    Advance(number, served, arrival);
    const TimedServer& server = servers_[number];
    found.packets = server.waiting();
    found.has_room = !IsFull(server, served);
    // Under processor sharing all packets at the link count as waiting.
    if (served.discipline != Discipline::kProcessorSharing) free = server.free();
  }
  if (free <= now) return found;
  ++found.packets;
  found.free = free;
  return found;
}

void TimedLinks::Enter(const Descriptor* batch, const uint32_t* links, int count, Ledger& ledger) {
  if (count == 0 || EnterAll(batch, links, count, 0)) return;
  EnterStored(batch, links, count, ledger);
}

bool TimedLinks::EnterAll(const Descriptor* batch, const uint32_t* links, int count, uint64_t now) {
  if (counting_ != 0 || count > kMostLast || store_->room() < static_cast<size_t>(count) ||
      !TimedPassage::IsFor(*table_)) {
    return false;
  }
  const ServedLink served = *table_->of_all();
  if (served.queue_limit != 0 &&
      !TimedPassage::Count(arrays(), first_link_, served, links, count)) {
    return false;
  }
  held_ += static_cast<uint64_t>(count);
  store_->SetAside(passage_.EnterAll(
      arrays(), first_link_, served, batch, links, count, now, [this] { Spill(); },
      [&](uint64_t arrival, uint32_t place) {
        StoreSent(batch[place], links[place] - first_link_, arrival);
      }));
  return true;
}

void TimedLinks::Spill() {
  if (!passage_.keeps_packets()) return;
  passage_.TakeLater([this](const LaterPacket& later) {
    store_->PutBack(1);
    StoreSent(later.packet, later.link, later.arrival);
  });
}

void TimedLinks::StoreSent(const Descriptor& packet, uint32_t number, uint64_t arrival) {
  const uint32_t entry = store_->Take();
  StoredPacket& stored = packets_.at(entry);
  stored.packet = packet;
  links_[number].fifo.List(entry, packets_);
  cold_[number].occupancy.store(links_[number].packets, std::memory_order_relaxed);
  stored.key = arrival;
  stored.link = number;
  calendar_.Add(entry, packets_);
}

void TimedLinks::EnterStored(const Descriptor* batch, const uint32_t* links, int count,
                             Ledger& ledger) {
  Spill();
  const ServedLink* const all = table_->of_all();
  if (all != nullptr && all->discipline == Discipline::kFifo) {
    const ServedLink served = *all;
    const uint32_t first_link = first_link_;
    const TimedArrays local = arrays();
    for (int i = 0; i < count; ++i) {
      EnterFifo(local, batch[i], links[i] - first_link, served, ledger);
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    const uint32_t number = links[i] - first_link_;
    const ServedLink& served = Served(number);
    if (served.discipline == Discipline::kFifo) {
      EnterFifo(arrays(), batch[i], number, served, ledger);
    } else {
      EnterOther(batch[i], number, served, ledger);
    }
  }
}

[[gnu::always_inline]] inline void TimedLinks::EnterFifo(TimedArrays arrays,
                                                         const Descriptor& packet, uint32_t number,
                                                         const ServedLink& served, Ledger& ledger) {
  const uint64_t arrival = ArrivalOf(packet);
  if (IsFifoFull(arrays.links[number], served, arrival)) [[unlikely]] {
    return DropAtFullQueue(packet, number, ledger);
  }
  const uint32_t entry = Keep(arrays, packet, number, ledger);
  if (entry != 0) [[likely]]
    SendFifo(arrays, number, served, entry, arrival);
}

void TimedLinks::EnterLast(const Descriptor* batch, const uint32_t* links, int count, uint64_t now,
                           Ledger& ledger) {
  if (count == 0 || EnterAll(batch, links, count, now)) return;
  Spill();
  // Packets that pass are not in the lists from which FIFO links find out which packets wait.
  if (counting_ != 0 || !TimedPassage::IsFor(*table_) ||
      !TimedPassage::Count(arrays(), first_link_, *table_->of_all(), links, count)) {
    return EnterStored(batch, links, count, ledger);
  }
  const ServedLink served = *table_->of_all();
  held_ += passage_.EnterSome(arrays(), first_link_, served, batch, links, count, now,
                              [&](const Descriptor& packet, uint32_t number) {
                                EnterCounted(packet, number, served, ledger);
                              });
}

void TimedLinks::EnterCounted(const Descriptor& packet, uint32_t number, const ServedLink& served,
                              Ledger& ledger) {
  --links_[number].packets;
  const uint32_t entry = Keep(arrays(), packet, number, ledger);
  if (entry != 0) return SendFifo(arrays(), number, served, entry, ArrivalOf(packet));
  cold_[number].occupancy.store(links_[number].packets, std::memory_order_relaxed);
}

void TimedLinks::EnterOther(const Descriptor& packet, uint32_t number, const ServedLink& served,
                            Ledger& ledger) {
  TimedServer& server = servers_[number];
  Advance(number, served, ArrivalOf(packet));
  if (IsFull(server, served)) return DropAtFullQueue(packet, number, ledger);
  const uint32_t entry = Keep(arrays(), packet, number, ledger);
  if (entry == 0) return;
  const LinkTime now = AtTick(ArrivalOf(packet)), work = served.SendTime(packet.bytes);
  server.Wait(served.discipline, now, work, entry, packets_);
  if (served.discipline == Discipline::kProcessorSharing) {
    counters_[number].AddBusy(TimedCounters::BusyOf(work), TickNotBefore(server.free()));
  }
  // A link that is free sends the packet at once.
  Advance(number, served, ArrivalOf(packet));
  Schedule(number);
}

void TimedLinks::DropAtFullQueue(const Descriptor& packet, uint32_t number, Ledger& ledger) {
  Bump<uint64_t>(cold_[number].queue_full, 1);
  DropOnWay(packet, tag_bits_behind_, DropReason::kQueueFull, ledger);
}

void TimedLinks::DropWithoutMemory(const Descriptor& packet, uint32_t number, Ledger& ledger) {
  Bump<uint64_t>(drops_[number].no_memory, 1);
  DropOnWay(packet, tag_bits_behind_, DropReason::kQueueMemory, ledger);
}

// Returns the entry of a packet that is on the link from now on; 0: it was dropped.
[[gnu::always_inline]] inline uint32_t TimedLinks::Keep(TimedArrays arrays,
                                                        const Descriptor& packet, uint32_t number,
                                                        Ledger& ledger) {
  const uint32_t entry = store_->Take();
  if (entry == 0) [[unlikely]] {
    DropWithoutMemory(packet, number, ledger);
    return 0;
  }
  arrays.packets.at(entry).packet = packet;
  arrays.counters[number].Count(packet.bytes);
  ++held_;
  TimedLink& link = arrays.links[number];
  ++link.packets;
  link.NotePeak(arrays.cold[number]);
  arrays.cold[number].occupancy.store(link.packets, std::memory_order_relaxed);
  return entry;
}

[[gnu::always_inline]] inline void TimedLinks::SendFifo(TimedArrays arrays, uint32_t number,
                                                        const ServedLink& served, uint32_t entry,
                                                        uint64_t arrival) {
  const LinkTime work = served.SendTime(arrays.packets.at(entry).packet.bytes);
  FifoLink<StoredPackets>& fifo = arrays.links[number].fifo;
  if (fifo.counts() && fifo.free() <= AtTick(arrival)) [[unlikely]] {
    fifo.StopCounting();
    --counting_;
  }
  const uint64_t departure = fifo.Add(arrival, work, entry, arrays.packets);
  arrays.counters[number].AddBusy(TimedCounters::BusyOf(work), departure);
  Depart(arrays, number, served, entry, departure);
}

void TimedLinks::SendAgain(uint32_t number, uint32_t entry, uint64_t now) {
  SendFifo(arrays(), number, Served(number), entry, now);
}

int TimedLinks::Release(uint64_t now, Descriptor* out, int room, Ledger& ledger) {
  while (!events_.empty() && events_.time() <= now) {
    const uint32_t number = events_.link();
    Advance(number, Served(number), events_.time());
    Schedule(number);
  }
  LatencyHistogram* const latency = latency_.load(std::memory_order_acquire);
  const bool loses = table_->loses_packets();
  const TimedArrays local = arrays();
  int count = 0;
  const auto add = [&](const Descriptor& packet, uint64_t arrival) {
    if (latency != nullptr) [[unlikely]]
      latency->AddBetween(ArrivalOf(packet), arrival);
    out[count] = packet;
    out[count++].arrival = arrival;
  };
  while (count < room) {
    const auto most = static_cast<size_t>(room - count);
    // Of packets with the same tick, those that are kept or stored came first.
    const uint64_t next_passing = passage_.StayingNotBefore();
    const uint64_t bound = std::min(now, next_passing);
    const auto due = calendar_.TakeDue(std::min(bound, passage_.LaterNotBefore()), most, packets_);
    held_ -= due.size();
    for (const auto& [arrival, entry] : due) {
      const StoredPacket& stored = local.packets.at(entry);
      LeaveLink(local, entry, stored);
      // Nothing overwrites the entry before the next packet is kept.
      store_->Give(entry);
      if (loses && IsLost(stored.link)) [[unlikely]] {
        Bump<uint64_t>(drops_[stored.link].lost, 1);
        DropOnWay(stored.packet, tag_bits_behind_, DropReason::kLoss, ledger);
        continue;
      }
      add(stored.packet, arrival);
    }
    if (!due.empty()) continue;
    const size_t later =
        passage_.TakeLaterUntil(local, std::min(bound, calendar_.NotBefore() - 1), most, add);
    if (later > 0) {
      held_ -= later;
      store_->PutBack(later);
      continue;
    }
    if (next_passing == UINT64_MAX) break;
    const int before = count;
    // The next packet comes before all stored packets, and further packets may do so too.
    const uint64_t next = std::min(calendar_.NotBefore(), passage_.LaterNotBefore());
    passage_.TakeUntil(std::max(next, next_passing + 1) - 1, most, add);
    held_ -= static_cast<uint64_t>(count - before);
  }
  return count;
}

[[gnu::always_inline]] inline void TimedLinks::LeaveLink(TimedArrays arrays, uint32_t entry,
                                                         const StoredPacket& stored) {
  TimedLink& link = arrays.links[stored.link];
  if (stored.rank != 0) {
    link.fifo.Forget(entry, arrays.packets, [this, &stored](uint32_t begun) {
      return Served(stored.link).SendTime(packets_.at(begun).packet.bytes);
    });
  }
  const uint32_t occupancy = --link.packets;
  if (link.fifo.counts() && occupancy == 0) [[unlikely]] {
    link.fifo.StopCounting();
    --counting_;
  }
  arrays.cold[stored.link].occupancy.store(occupancy, std::memory_order_relaxed);
}

bool TimedLinks::IsLost(uint32_t number) {
  const ServedLink& served = Served(number);
  if (served.loss == 0) return false;
  const uint64_t draw = DrawOf(first_of_stage_ + first_link_ + number, drawn_[number]++);
  const PhiloxBlock random = RandomBlock(seed_, RandomStream::kLinkLoss, draw);
  return served.Loses(uint64_t{random[0]} << 32 | random[1]);
}

// For a link that is not FIFO: when the next departure becomes known. If the link sends one packet
// at a time, the next packet begins to be sent then; if it is shared, the next packet has been sent
// then.
void TimedLinks::Schedule(uint32_t number) {
  const TimedServer& server = servers_[number];
  if (server.waiting() == 0) return events_.Remove(number);
  const bool shared = Served(number).discipline == Discipline::kProcessorSharing;
  events_.Set(number, TickNotBefore(shared ? server.NextDeparture(packets_) : server.free()));
}

uint64_t TimedLinks::Discard() {
  Spill();
  const uint64_t discarded = held_;
  const auto free_entry = [this](uint32_t entry) {
    rte_pktmbuf_free(packets_.at(entry).packet.mbuf);
    store_->Give(entry);
    return true;
  };
  calendar_.TakeOut(packets_, free_entry);
  for (uint32_t number = 0; number < count_; ++number) {
    TimedServer& server = servers_[number];
    while (server.waiting() > 0) {
      free_entry(server.TakeNext(Served(number).discipline, packets_));
    }
    links_[number] = TimedLink();  // `most` begins anew, and LinkCold::peak does not
    cold_[number].occupancy.store(0, std::memory_order_relaxed);
    events_.Remove(number);
  }
  held_ = counting_ = 0;
  return discarded;
}

}  // namespace bfly::dataplane
