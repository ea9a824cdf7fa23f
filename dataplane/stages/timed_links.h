// SPDX-License-Identifier: Apache-2.0
// The links of one stage, or of a block of its rows, where some of them take time. A packet's
// departure follows from its arrival, its size and what is before it, never from when the worker
// looked: at a FIFO link D = max(free, arrival) + size/rate, and it arrives at the next node at D +
// delay.
//
// A link is looked at only when a packet comes or arrives at its far end. The times alone then tell
// what the link did in between. Among packets that come at one moment the first in the batch is
// served first. A packet that comes at the moment at which a link becomes free finds it free.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "dataplane/core/descriptor.h"
#include "dataplane/core/ledger.h"
#include "dataplane/links/event_heap.h"
#include "dataplane/links/link_server.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/telemetry/latency_histogram.h"

namespace bfly::dataplane {

struct LinkCold;

// Worker: writes, snapshot: relaxed loads.
struct TimedCounters {
  std::atomic<uint64_t> busy{0};       // TSC ticks of sending, of packets whose sending has begun
  std::atomic<uint64_t> lost{0};       // on the wire
  std::atomic<uint64_t> no_memory{0};  // the packet store was full
};

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

  // Takes a packet that goes over `link`, where it already is on the far side (tag, row). Packets
  // come in order of their arrival. What cannot be kept is dropped.
  void Enter(const Descriptor& packet, uint32_t link, Ledger& ledger);

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

  // Packets that have arrived at the far side by `now`, in order of arrival, at most `room`.
  // Packets lost on the wire are dropped here.
  int Release(uint64_t now, Descriptor* out, int room, Ledger& ledger);

  // TSC of the next arrival at a far side; UINT64_MAX: nothing is on the links.
  uint64_t NextRelease() const { return events_.empty() ? UINT64_MAX : events_.time(); }
  uint64_t held() const { return held_; }
  // Frees the packets on the links and returns how many there were.
  uint64_t Discard();

  // Control: where the time of packets that arrive at a far side is recorded; null: nowhere.
  void RecordLatency(LatencyHistogram* latency) {
    latency_.store(latency, std::memory_order_release);
  }

  const TimedCounters& counters(uint32_t link) const { return counters_[link - first_link_]; }

 private:
  struct alignas(64) Server : LinkServer<PacketStore> {};
  static_assert(sizeof(Server) == 64);

  // Packets whose departure is known and that are not at the far side yet: a list by arrival there.
  struct Wire {
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t packets = 0;
    uint64_t drawn = 0;  // packets that a loss was drawn for
  };

  static bool IsFull(const Server& server, const ServedLink& served);
  void Advance(uint32_t number, const ServedLink& served, uint64_t now);
  void Depart(uint32_t number, const ServedLink& served, uint32_t entry, LinkTime departure);
  void Schedule(uint32_t number);
  void CountOccupancy(uint32_t number);
  bool IsLost(uint32_t number, const ServedLink& served);

  // Inside, links are numbered from 0.
  const ServedLink& Served(uint32_t number) const { return table_->of(first_link_ + number); }

  const uint32_t first_link_;      // in the stage
  const uint64_t first_of_stage_;  // in the network
  const uint64_t seed_;
  PacketStore* const store_;
  LinkCold* const cold_;
  const ShapeTable* table_ = nullptr;
  std::unique_ptr<Server[]> servers_;
  std::unique_ptr<Wire[]> wires_;
  std::unique_ptr<TimedCounters[]> counters_;
  EventHeap events_;
  uint64_t held_ = 0;
  std::atomic<LatencyHistogram*> latency_{nullptr};  // control: writes, worker: acquire loads
};

}  // namespace bfly::dataplane
