// SPDX-License-Identifier: Apache-2.0
// Packets that arrive at the far side of their FIFO links within the pass in which they come. They
// stay in the batch in which they come. Storing them, and taking them out of the store and the
// calendar at once, would cost more than the links themselves.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dataplane/core/descriptor.h"
#include "dataplane/links/batch_order.h"
#include "dataplane/links/fifo_link.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/stages/packet_store.h"

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

struct alignas(64) TimedLink {
  FifoLink<StoredPackets> fifo;  // if the link is FIFO
  uint64_t latest = 0;           // arrival at the far side of the packet that left last
  uint32_t packets = 0;          // that wait, are being sent, or are on the wire
  uint32_t most = 0;             // of `packets`

  void NotePeak(LinkCold& cold);
};
static_assert(sizeof(TimedLink) == 64);

// What is touched for every packet, by number of the link. Loops have a copy of it, as
// StoredPackets says.
struct TimedArrays {
  StoredPackets packets;
  TimedLink* links;
  LinkCold* cold;
  TimedCounters* counters;
};

class TimedPassage {
 public:
  static constexpr int kMost = BatchOrder::kMost;  // packets of a batch

  // Counts the packets of a batch as being on their links, if all links are alike, FIFO and without
  // loss, and nobody has to find out who waits, because no more packets are on a link than its
  // queue limit says. Returns whether it did. The numbers of `links` begin with `first_link`.
  static bool Count(TimedArrays arrays, uint32_t first_link, const ShapeTable& table,
                    const uint32_t* links, int count);

  // Sends the packets of a batch that Count counted, all over links like `served`. Those that
  // arrive by `now` stay in `batch`, and they count as having left their links. The others are left
  // to store(packet, number of the link). Returns how many stay.
  template <typename Store>
  size_t Enter(TimedArrays arrays, uint32_t first_link, const ServedLink& served,
               const Descriptor* batch, const uint32_t* links, int count, uint64_t now,
               const Store& store) {
    batch_ = batch;
    order_.Begin(ArrivalOf(batch[0]));
    const uint64_t until = std::min(now, ArrivalOf(batch[0]) + BatchOrder::kMostTicks);
    for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
      const Descriptor& packet = batch[i];
      const uint32_t number = links[i] - first_link;
      TimedLink& link = arrays.links[number];
      const LinkTime work = served.SendTime(packet.bytes);
      const FifoLink<StoredPackets>::Sending sending = link.fifo.SendingOf(ArrivalOf(packet), work);
      const uint64_t far = std::max(sending.departure() + served.delay, link.latest);
      if (far > until) {
        store(packet, number);
        continue;
      }
      if (link.packets > link.most) [[unlikely]]
        NotePeak(arrays, number);
      link.fifo.Send(sending);
      link.latest = far;
      arrays.counters[number].AddBusy(WholeTick(work), sending.departure());
      order_.Add(far, i);
    }
    Leave(arrays, first_link, links, static_cast<size_t>(count));
    return order_.count();
  }

  // No packet arrives before this TSC; UINT64_MAX: there is none.
  uint64_t NotBefore() const { return order_.NotBefore(); }
  // Calls take(packet, arrival) for the next packets that arrive by `until`, at most `most`.
  template <typename Take>
  void TakeUntil(uint64_t until, size_t most, const Take& take) {
    order_.TakeUntil(until, most,
                     [&](uint64_t arrival, uint32_t place) { take(batch_[place], arrival); });
  }

 private:
  static void NotePeak(TimedArrays arrays, uint32_t number);
  void Leave(TimedArrays arrays, uint32_t first_link, const uint32_t* links, size_t count);

  const Descriptor* batch_ = nullptr;
  BatchOrder order_;
};

}  // namespace bfly::dataplane
