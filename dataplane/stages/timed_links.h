// SPDX-License-Identifier: Apache-2.0
// The links of one stage, or of a block of its rows, where some of them take time. A packet's
// departure follows from its arrival, its size and what is before it, never from when the worker
// looked: at a FIFO link D = max(free, arrival) + size/rate, and it arrives at the next node at D +
// delay.
//
// At a FIFO link the departure of a packet is known as soon as the packet comes, also if the packet
// has to wait. At other links it is known when the link takes the packet from those that wait, or,
// if the link is shared, when the packet has been sent. A packet whose departure is known lies in
// the stage's calendar until it arrives at the far side. Where all links are FIFO and alike it lies
// in the TimedPassage instead.
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
#include "dataplane/links/link_server.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/stages/timed_passage.h"
#include "dataplane/telemetry/latency_histogram.h"

namespace bfly::dataplane {

// What a packet that comes finds at a link.
struct LinkStanding {
  uint32_t packets = 0;  // waiting or being sent
  LinkTime free = 0;     // when the packet being sent has left
  bool has_room = false;
  bool IsBefore(const LinkStanding& other) const {
    return packets != other.packets ? packets < other.packets : free < other.free;
  }
};

// Worker: writes, snapshot: relaxed loads.
struct TimedDrops {
  std::atomic<uint64_t> lost{0};       // on the wire
  std::atomic<uint64_t> no_memory{0};  // the packet store was full
};

// Of a link that is not FIFO: the packets whose departure is not known.
struct alignas(64) TimedServer : LinkServer<StoredPackets> {};
static_assert(sizeof(TimedServer) == 64);

class TimedLinks {
 public:
  // For `links` links of a stage from number `first_link` on. `cold` holds their other counters.
  // `first_of_stage` numbers link 0 of the stage among all links of the network, for the random
  // numbers of losses. Tags have `tag_bits_behind` bits left behind the stage.
  TimedLinks(uint32_t links, uint64_t first_of_stage, PacketStore* store, LinkCold* cold,
             uint64_t seed, uint32_t first_link = 0, int tag_bits_behind = 0);

  // Packets that are being sent go on as they were. Packets that wait are served as the new table
  // says from `now` on. If the discipline changes, packets that share the link start over.
  void SetTable(const ShapeTable* table, uint64_t now);

  // Takes packets that go over their `links`, where they already are on the far side (tag, row).
  // Packets come in order of their arrival. What cannot be kept is dropped.
  void Enter(const Descriptor* batch, const uint32_t* links, int count, Ledger& ledger);
  void Enter(const Descriptor& packet, uint32_t link, Ledger& ledger) {
    Enter(&packet, &link, 1, ledger);
  }

  // The same for the last packets that come in a pass, at most kMostLast of them. The clock of the
  // pass says `now`. A packet that arrives at the far side by then stays in `batch` and is not
  // stored. Release must follow until it finds nothing more by `now`, and `batch` must stay as it
  // is until then.
  static constexpr int kMostLast = TimedPassage::kMost;
  void EnterLast(const Descriptor* batch, const uint32_t* links, int count, uint64_t now,
                 Ledger& ledger);
  // Where all links are FIFO: at most so many stored packets have arrived by the time of the last
  // ExpectRelease, unless there are more than kMostLast of them.
  size_t due() const { return calendar_.due() + passage_.CountLaterUntil(expected_); }

  // Calls come in order of arrival, together with those of Enter.
  using Standing = LinkStanding;
  Standing At(uint32_t link, uint64_t arrival);

  // Release will be asked for all that arrives by `now`, and soon. The packets that come from here
  // on are kept so that this costs least.
  void ExpectRelease(uint64_t now) {
    calendar_.MoveTo(now, packets_);
    expected_ = now;
  }
  // Packets that have arrived at the far side by `now`, in order of arrival, at most `room`.
  // Packets lost on the wire are dropped here.
  int Release(uint64_t now, Descriptor* out, int room, Ledger& ledger);

  // No packet arrives at a far side before this TSC; UINT64_MAX: nothing is on the links. Once
  // Release has found nothing more by `now` it is later than that.
  uint64_t NextRelease() const {
    const uint64_t known = std::min(calendar_.NotBefore(), passage_.NotBefore());
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
  const TimedDrops& drops(uint32_t link) const { return drops_[link - first_link_]; }

 private:
  friend class TimedChange;

  // Sends the packets of a batch without the store, if that can be done; returns whether it did.
  bool EnterAll(const Descriptor* batch, const uint32_t* links, int count, uint64_t now);
  void EnterStored(const Descriptor* batch, const uint32_t* links, int count, Ledger& ledger);
  // Moves what the passage keeps to the store. This comes before anybody asks who waits, before
  // settings change, and before a packet is stored, because packets in the store are the older
  // ones.
  void Spill();
  // A packet that is on its link already, for which there is room.
  void StoreSent(const Descriptor& packet, uint32_t number, uint64_t arrival);

  TimedArrays arrays() const { return {packets_, links_.get(), cold_, counters_.get()}; }
  bool IsFifoFull(TimedLink& link, const ServedLink& served, uint64_t arrival);
  // The packets that wait at a FIFO link.
  uint32_t WaitingAt(TimedLink& link, const ServedLink& served, uint64_t now);
  void EnterFifo(TimedArrays arrays, const Descriptor& packet, uint32_t number,
                 const ServedLink& served, Ledger& ledger);
  void EnterOther(const Descriptor& packet, uint32_t number, const ServedLink& served,
                  Ledger& ledger);
  void DropAtFullQueue(const Descriptor& packet, uint32_t number, Ledger& ledger);
  void DropWithoutMemory(const Descriptor& packet, uint32_t number, Ledger& ledger);
  // EnterFifo for a packet that counts as being on its link and finds the queue not full.
  void EnterCounted(const Descriptor& packet, uint32_t number, const ServedLink& served,
                    Ledger& ledger);
  uint32_t Keep(TimedArrays arrays, const Descriptor& packet, uint32_t number, Ledger& ledger);
  void SendFifo(TimedArrays arrays, uint32_t number, const ServedLink& served, uint32_t entry,
                uint64_t arrival);
  void Advance(uint32_t number, const ServedLink& served, uint64_t now);
  void Depart(TimedArrays arrays, uint32_t number, const ServedLink& served, uint32_t entry,
              uint64_t departure);
  void Schedule(uint32_t number);
  void LeaveLink(TimedArrays arrays, uint32_t entry, const StoredPacket& stored);
  bool IsLost(uint32_t number);
  // SendFifo for a packet that is on its link and waits.
  void SendAgain(uint32_t number, uint32_t entry, uint64_t now);
  // The time that sending a stored packet takes.
  auto WorkAt(const ServedLink& served) const {
    return [packets = packets_, &served](uint32_t entry) {
      return served.SendTime(packets.at(entry).packet.bytes);
    };
  }

  // Inside, links are numbered from 0.
  const ServedLink& Served(uint32_t number) const { return table_->of(first_link_ + number); }

  const uint32_t first_link_;  // in the stage
  const int tag_bits_behind_;
  const uint64_t first_of_stage_;  // in the network
  const uint64_t seed_;
  PacketStore* const store_;
  StoredPackets packets_ = store_->packets();
  LinkCold* const cold_;
  const ShapeTable* table_ = nullptr;
  const std::unique_ptr<TimedLink[]> links_;
  const std::unique_ptr<TimedServer[]> servers_;
  const std::unique_ptr<TimedCounters[]> counters_;
  const std::unique_ptr<TimedDrops[]> drops_;
  const std::unique_ptr<uint64_t[]> drawn_;  // packets of a link that a loss was drawn for
  Calendar<StoredPackets> calendar_;         // packets whose departure is known
  EventHeap events_;      // of links that are not FIFO: when the next departure becomes known
  const uint32_t count_;  // of links
  uint64_t held_ = 0;
  // The packets that it keeps were sent after all those in the calendar.
  TimedPassage passage_;
  uint64_t expected_ = 0;                            // of the last ExpectRelease
  uint32_t counting_ = 0;                            // FIFO links that count who waits
  std::atomic<LatencyHistogram*> latency_{nullptr};  // control: writes, worker: acquire loads
};

}  // namespace bfly::dataplane
