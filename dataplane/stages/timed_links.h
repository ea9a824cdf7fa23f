// SPDX-License-Identifier: Apache-2.0
// The links of one stage, or of a block of its rows, if some of them take time. A packet's
// departure follows from its arrival, its size and the packets before it, and not from the time at
// which the worker looks: at a FIFO link D = max(free, arrival) + size/rate, and it arrives at the
// next node at D + delay.
//
// At a FIFO link the departure of a packet is known as soon as the packet comes, also if the packet
// has to wait. At other links it is known when the link takes the packet from the waiting packets,
// or, if the link is shared, when the packet has been sent. A packet whose departure is known lies
// in the stage's calendar until it arrives at the far side. If all links are FIFO and alike, it
// lies in the TimedPassage instead.
//
// Of packets that come at one moment, the first in the batch is served first. A packet that comes
// at the moment at which a link becomes free finds the link free. Packets that arrive in the same
// tick come out in the order in which their departures became known.
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

// The state of a link when a packet comes.
struct LinkStanding {
  uint32_t packets = 0;  // packets that wait or are being sent
  LinkTime free = 0;     // when the packet being sent has left
  bool has_room = false;
  bool IsBefore(const LinkStanding& other) const {
    return packets != other.packets ? packets < other.packets : free < other.free;
  }
};

// Worker: writes, snapshot: relaxed loads.
struct TimedDrops {
  std::atomic<uint64_t> lost{0};       // on the wire
  std::atomic<uint64_t> no_memory{0};  // packets dropped because the packet store was full
};

// The packets of a link that is not FIFO whose departure is not known.
struct alignas(64) TimedServer : LinkServer<StoredPackets> {};
static_assert(sizeof(TimedServer) == 64);

class TimedLinks {
 public:
  // Serves `links` links of a stage from number `first_link` on. `cold` holds the other counters of
  // these links. `first_of_stage` numbers link 0 of the stage among all links of the network, for
  // the random numbers of losses. Tags have `tag_bits_behind` bits left behind the stage.
  TimedLinks(uint32_t links, uint64_t first_of_stage, PacketStore* store, LinkCold* cold,
             uint64_t seed, uint32_t first_link = 0, int tag_bits_behind = 0);

  // Gives the links a new table. Packets that are being sent go on as before. Packets that wait are
  // served as the new table says from `now` on. If the discipline changes, packets that share the
  // link start over.
  void SetTable(const ShapeTable* table, uint64_t now);

  // Takes packets that go over their `links`; their tags and rows are already those of the far
  // side. Packets come in order of their arrival. Packets that cannot be kept are dropped.
  void Enter(const Descriptor* batch, const uint32_t* links, int count, Ledger& ledger);
  void Enter(const Descriptor& packet, uint32_t link, Ledger& ledger) {
    Enter(&packet, &link, 1, ledger);
  }

  // The same for the last packets that come in a pass, at most kMostLast of them. `now` is the time
  // of the pass. A packet that arrives at the far side by `now` stays in `batch` and is not stored.
  // Release must be called until it finds no more packets by `now`, and `batch` must not be changed
  // until then.
  static constexpr int kMostLast = TimedPassage::kMost;
  void EnterLast(const Descriptor* batch, const uint32_t* links, int count, uint64_t now,
                 Ledger& ledger);
  // If all links are FIFO: the most stored packets that have arrived by the time of the last
  // ExpectRelease, unless more than kMostLast have arrived.
  size_t due() const { return calendar_.due() + passage_.CountLaterUntil(expected_); }

  // The state of a link for a packet that comes at `arrival`. Calls come in order of arrival,
  // together with the calls of Enter.
  using Standing = LinkStanding;
  Standing At(uint32_t link, uint64_t arrival);

  // Announces that Release will soon be called for all packets that arrive by `now`. The packets
  // that come from here on are kept in the way that costs least then.
  void ExpectRelease(uint64_t now) {
    calendar_.MoveTo(now, packets_);
    expected_ = now;
  }
  // Takes out packets that have arrived at the far side by `now`, in order of arrival, at most
  // `room`. Returns how many. Packets lost on the wire are dropped here.
  int Release(uint64_t now, Descriptor* out, int room, Ledger& ledger);

  // No packet arrives at a far side before this TSC; UINT64_MAX: no packet is on the links. When
  // Release has found no more packets by `now`, this is later than `now`.
  uint64_t NextRelease() const {
    const uint64_t known = std::min(calendar_.NotBefore(), passage_.NotBefore());
    return events_.empty() ? known : std::min(known, events_.time());
  }
  uint64_t held() const { return held_; }
  // Frees the packets on the links and returns how many there were.
  uint64_t Discard();

  // Control: records the time of packets that arrive at a far side in `latency`. Null: does not
  // record it.
  void RecordLatency(LatencyHistogram* latency) {
    latency_.store(latency, std::memory_order_release);
  }

  const TimedCounters& counters(uint32_t link) const { return counters_[link - first_link_]; }
  const TimedDrops& drops(uint32_t link) const { return drops_[link - first_link_]; }

 private:
  friend class TimedChange;

  // Sends the packets of a batch without the store, if that is possible. Returns whether it sent
  // them.
  bool EnterAll(const Descriptor* batch, const uint32_t* links, int count, uint64_t now);
  void EnterStored(const Descriptor* batch, const uint32_t* links, int count, Ledger& ledger);
  // Moves the packets that the passage keeps to the store. This is done before the waiting packets
  // are counted, before settings change, and before a packet is stored, because packets in the
  // store must be older than packets in the passage.
  void Spill();
  // Stores a packet that is on its link already. The store has room for it.
  void StoreSent(const Descriptor& packet, uint32_t number, uint64_t arrival);

  TimedArrays arrays() const { return {packets_, links_.get(), cold_, counters_.get()}; }
  bool IsFifoFull(TimedLink& link, const ServedLink& served, uint64_t arrival);
  // How many packets wait at a FIFO link.
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

  // Inside this class links are numbered from 0.
  const ServedLink& Served(uint32_t number) const { return table_->of(first_link_ + number); }

  const uint32_t first_link_;  // the number of link 0 in the stage
  const int tag_bits_behind_;
  const uint64_t first_of_stage_;  // the number of the stage's link 0 in the network
  const uint64_t seed_;
  PacketStore* const store_;
  StoredPackets packets_ = store_->packets();
  LinkCold* const cold_;
  const ShapeTable* table_ = nullptr;
  const std::unique_ptr<TimedLink[]> links_;
  const std::unique_ptr<TimedServer[]> servers_;
  const std::unique_ptr<TimedCounters[]> counters_;
  const std::unique_ptr<TimedDrops[]> drops_;
  const std::unique_ptr<uint64_t[]> drawn_;  // for each link: how many packets a loss was drawn for
  Calendar<StoredPackets> calendar_;         // packets whose departure is known
  EventHeap events_;      // for links that are not FIFO: when the next departure becomes known
  const uint32_t count_;  // the number of links
  uint64_t held_ = 0;
  // The packets that the passage keeps were sent after all packets in the calendar.
  TimedPassage passage_;
  uint64_t expected_ = 0;  // the time of the last ExpectRelease
  uint32_t counting_ = 0;  // how many FIFO links count their waiting packets
  std::atomic<LatencyHistogram*> latency_{nullptr};  // control: writes, worker: acquire loads
};

// The memory that TimedLinks takes for each link.
inline constexpr size_t kTimedBytesPerLink = sizeof(TimedLink) + sizeof(TimedServer) +
                                             sizeof(TimedCounters) + sizeof(TimedDrops) +
                                             sizeof(uint64_t) + EventHeap::BytesPerLink();

}  // namespace bfly::dataplane
