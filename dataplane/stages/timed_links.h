// SPDX-License-Identifier: Apache-2.0
// The links of one stage, or of a block of its rows, where some of them take time. A packet's
// departure follows from its arrival, its size and what is before it, never from when the worker
// looked: at a FIFO link D = max(free, arrival) + size/rate, and it arrives at the next node at D +
// delay.
//
// At a FIFO link the departure of a packet is known as soon as the packet comes, also if the packet
// has to wait. At other links it is known when the link takes the packet from those that wait, or,
// if the link is shared, when the packet has been sent. A packet whose departure is known lies in
// the stage's calendar until it arrives at the far side.
//
// Among packets that come at one moment the first in the batch is served first. A packet that comes
// at the moment at which a link becomes free finds it free. Packets that arrive in the same tick
// come out in the order in which their departures became known.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/links/calendar.h"
#include "dataplane/links/event_heap.h"
#include "dataplane/links/fifo_link.h"
#include "dataplane/links/link_server.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/telemetry/latency_histogram.h"

namespace bfly::dataplane {

struct LinkCold;

// Worker: writes, snapshot: loads, relaxed where nothing else is said.
struct TimedCounters {
  // TSC ticks of sending, of all packets whose departure is known. Release stores, acquire loads.
  std::atomic<uint64_t> busy{0};
  std::atomic<uint64_t> busy_until{0};  // TSC, at a FIFO link: when these packets have been sent
  std::atomic<uint64_t> lost{0};        // on the wire
  std::atomic<uint64_t> no_memory{0};   // the packet store was full

  // TSC ticks of sending up to `now`. A FIFO link that has something to send never rests, so what
  // it sends later ends at `busy_until`.
  uint64_t BusyBy(uint64_t now) const {
    const uint64_t all = busy.load(std::memory_order_acquire);
    const uint64_t until = busy_until.load(std::memory_order_relaxed);
    const uint64_t ahead = until > now ? until - now : 0;
    return all > ahead ? all - ahead : 0;
  }
  // Worker: the link sends `ticks` more, until `until`.
  void AddBusy(uint64_t ticks, uint64_t until) {
    busy_until.store(until, std::memory_order_relaxed);
    busy.store(busy.load(std::memory_order_relaxed) + ticks, std::memory_order_release);
  }
};
static_assert(sizeof(TimedCounters) == 32);

class TimedLinks {
 public:
  // For `links` links of a stage from number `first_link` on. `cold` holds their other counters.
  // `first_of_stage` numbers link 0 of the stage among all links of the network, for the random
  // numbers of losses.
  TimedLinks(uint32_t links, uint64_t first_of_stage, PacketStore* store, LinkCold* cold,
             uint64_t seed, uint32_t first_link = 0);

  // Packets that are being sent go on as they were. Packets that wait are served as the new table
  // says from `now` on. If the discipline changes, packets that share the link start over.
  void SetTable(const ShapeTable* table, uint64_t now);

  // Takes packets that go over their `links`, where they already are on the far side (tag, row).
  // Packets come in order of their arrival. What cannot be kept is dropped.
  void Enter(const Descriptor* batch, const uint32_t* links, int count, Ledger& ledger);
  void Enter(const Descriptor& packet, uint32_t link, Ledger& ledger) {
    Enter(&packet, &link, 1, ledger);
  }

  // What a packet that comes at `arrival` finds at a link. Calls come in order of arrival, together
  // with those of Enter.
  struct Standing {
    uint32_t packets = 0;  // waiting or being sent
    LinkTime free = 0;     // when the packet being sent has left
    bool has_room = false;
    bool IsBefore(const Standing& other) const {
      return packets != other.packets ? packets < other.packets : free < other.free;
    }
  };
  Standing At(uint32_t link, uint64_t arrival);

  // Release will be asked for all that arrives by `now`, and soon. The packets that come from here
  // on are kept so that this costs least.
  void ExpectRelease(uint64_t now) { calendar_.MoveTo(now, packets_); }
  // Packets that have arrived at the far side by `now`, in order of arrival, at most `room`.
  // Packets lost on the wire are dropped here.
  int Release(uint64_t now, Descriptor* out, int room, Ledger& ledger);

  // No packet arrives at a far side before this TSC; UINT64_MAX: nothing is on the links. Once
  // Release has found nothing more by `now` it is later than that.
  uint64_t NextRelease() const {
    const uint64_t known = calendar_.NotBefore();
    return events_.empty() ? known : std::min(known, events_.time());
  }
  uint64_t held() const { return held_; }
  // Frees the packets on the links and returns how many there were.
  uint64_t Discard();

  // Control: where the time of packets that arrive at a far side is recorded; null: nowhere.
  void RecordLatency(LatencyHistogram* latency) {
    latency_.store(latency, std::memory_order_release);
  }

  const TimedCounters& counters(uint32_t link) const { return counters_[link - first_link_]; }

 private:
  // Of a link that is not FIFO: the packets whose departure is not known.
  struct alignas(64) Server : LinkServer<StoredPackets> {};
  static_assert(sizeof(Server) == 64);

  struct alignas(64) Link {
    FifoLink<StoredPackets> fifo;  // if the link is FIFO
    uint64_t latest = 0;           // arrival at the far side of the packet that left last
    uint32_t packets = 0;          // that wait, are being sent, or are on the wire
  };
  static_assert(sizeof(Link) == 64);

  // What is touched for every packet. Loops have a copy of it, as StoredPackets says.
  struct Arrays {
    StoredPackets packets;
    Link* links;
    LinkCold* cold;
    TimedCounters* counters;
  };

  // A mark in StoredPacket::rank.
  static constexpr uint32_t kServedAgain = 2;

  Arrays arrays() const { return {packets_, links_.get(), cold_, counters_.get()}; }
  bool IsFifoFull(Link& link, const ServedLink& served, uint64_t arrival);
  static bool IsFull(const Server& server, const ServedLink& served);
  void EnterFifo(Arrays arrays, const Descriptor& packet, uint32_t number, const ServedLink& served,
                 Ledger& ledger);
  void EnterOther(const Descriptor& packet, uint32_t number, const ServedLink& served,
                  Ledger& ledger);
  void DropAtFullQueue(const Descriptor& packet, uint32_t number, Ledger& ledger);
  void DropWithoutMemory(const Descriptor& packet, uint32_t number, Ledger& ledger);
  uint32_t Keep(Arrays arrays, const Descriptor& packet, uint32_t number, Ledger& ledger);
  void SendFifo(Arrays arrays, uint32_t number, const ServedLink& served, uint32_t entry,
                uint64_t arrival);
  void Advance(uint32_t number, const ServedLink& served, uint64_t now);
  void Depart(Arrays arrays, uint32_t number, const ServedLink& served, uint32_t entry,
              uint64_t departure);
  void Schedule(uint32_t number);
  void LeaveLink(Arrays arrays, uint32_t entry, const StoredPacket& stored);
  bool IsLost(uint32_t number);
  void MarkWaiting(uint32_t number, const ServedLink& old,
                   FifoLink<StoredPackets>::Waiting waiting);
  void ServeAgain(uint32_t number, const ServedLink& old, FifoLink<StoredPackets>::Waiting waiting,
                  uint64_t now);
  // The time that sending a stored packet takes.
  auto WorkAt(const ServedLink& served) const {
    return [packets = packets_, &served](uint32_t entry) {
      return served.SendTime(packets.at(entry).packet.bytes);
    };
  }

  // Inside, links are numbered from 0.
  const ServedLink& Served(uint32_t number) const { return table_->of(first_link_ + number); }

  const uint32_t first_link_;      // in the stage
  const uint64_t first_of_stage_;  // in the network
  const uint64_t seed_;
  PacketStore* const store_;
  StoredPackets packets_ = store_->packets();
  LinkCold* const cold_;
  const ShapeTable* table_ = nullptr;
  const std::unique_ptr<Link[]> links_;
  const std::unique_ptr<Server[]> servers_;
  const std::unique_ptr<TimedCounters[]> counters_;
  const std::unique_ptr<uint64_t[]> drawn_;  // packets of a link that a loss was drawn for
  Calendar<StoredPackets> calendar_;         // packets whose departure is known
  EventHeap events_;      // of links that are not FIFO: when the next departure becomes known
  const uint32_t count_;  // of links
  uint64_t held_ = 0;
  std::atomic<LatencyHistogram*> latency_{nullptr};  // control: writes, worker: acquire loads
};

}  // namespace bfly::dataplane
