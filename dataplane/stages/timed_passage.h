// SPDX-License-Identifier: Apache-2.0
// Carries packets over FIFO links that are all alike, without the store and the calendar, which
// would cost more than the links themselves. Packets that arrive at the far side within the pass in
// which they come stay in their batch. The others are kept in order of arrival.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "dataplane/core/descriptor.h"
#include "dataplane/links/batch_order.h"
#include "dataplane/links/fifo_link.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/stages/later_packets.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

struct LinkCold;

// The counters that every packet changes. Worker: writes, snapshot: loads, which are relaxed unless
// the comment says otherwise.
struct alignas(32) TimedCounters {
  // The time that sending takes, in 1/256 TSC ticks, summed over all packets that are at a FIFO or
  // shared link or were sent; at a link with priorities, over those that began to be sent. Whole
  // ticks would be too coarse: 64 bytes at 1 Tbit/s take 1.28 ticks of 2.5 GHz. 64 bits hold 333
  // days of sending at 2.5 GHz. Release stores, acquire loads.
  std::atomic<uint64_t> busy{0};
  // TSC: when the packets counted in `busy` have been sent.
  std::atomic<uint64_t> busy_until{0};
  std::atomic<uint64_t> packets{0};  // packets that the link took
  std::atomic<uint64_t> bytes{0};    // bytes of these packets

  static constexpr int kBusyBits = 8;  // bits of `busy` below the tick

  // `work` as a part of `busy`, rounded to the nearest.
  static constexpr uint64_t BusyOf(LinkTime work) {
    constexpr int kLess = kTickFractionBits - kBusyBits;
    return static_cast<uint64_t>((work + (LinkTime{1} << (kLess - 1))) >> kLess);
  }
  // TSC ticks of sending up to `now`, modulo 2^56. A link with packets to send never pauses, so the
  // sending after `now` ends at `busy_until`. It may last longer than `busy` can tell. Roundings,
  // and packets that come while this is read, may leave less than nothing: that is nothing.
  uint64_t BusyBy(uint64_t now) const {
    const uint64_t all = busy.load(std::memory_order_acquire) >> kBusyBits;
    const uint64_t until = busy_until.load(std::memory_order_relaxed);
    const uint64_t ahead = until > now ? until - now : 0;
    constexpr uint64_t kAll = UINT64_MAX >> kBusyBits;
    constexpr uint64_t kMostMissing = uint64_t{1} << 48;  // 31 hours at 2.5 GHz
    const uint64_t sent = (all - ahead) & kAll;
    return sent > kAll - kMostMissing ? 0 : sent;
  }
  // Worker: adds `more` 1/256 ticks of sending, which end at `until`.
  void AddBusy(uint64_t more, uint64_t until) {
    busy_until.store(until, std::memory_order_relaxed);
    busy.store(busy.load(std::memory_order_relaxed) + more, std::memory_order_release);
  }
  // Worker: counts a packet that the link takes.
  void Count(uint32_t more_bytes) {
    Bump(packets, 1);
    Bump(bytes, more_bytes);
  }
};
static_assert(sizeof(TimedCounters) == 32);

struct alignas(64) TimedLink {
  FifoLink<StoredPackets> fifo;  // used if the link is FIFO
  uint64_t latest = 0;           // when the packet that left last arrives at the far side
  uint32_t packets = 0;          // packets that wait, are being sent, or are on the wire
  uint32_t most = 0;             // the largest value of `packets`

  void NotePeak(LinkCold& cold);
};
static_assert(sizeof(TimedLink) == 64);

// The arrays that every packet touches, indexed by the number of the link. Loops have a copy of
// this object, for the reason given at StoredPackets.
struct TimedArrays {
  StoredPackets packets;
  TimedLink* links;
  LinkCold* cold;
  TimedCounters* counters;
};

class TimedPassage {
 public:
  static constexpr int kMost = BatchOrder::kMost;  // packets of a batch

  // Whether all links are alike, FIFO and without loss. The other functions are for such links.
  static bool IsFor(const ShapeTable& table) {
    const ServedLink* const all = table.of_all();
    return all != nullptr && all->discipline == Discipline::kFifo && all->loss == 0;
  }
  // Counts the packets of a batch as being on their links, if the waiting packets need not be
  // counted because no link has more packets than its queue limit. Returns whether it counted them.
  // The numbers of `links` begin with `first_link`.
  static bool Count(TimedArrays arrays, uint32_t first_link, const ServedLink& served,
                    const uint32_t* links, int count);

  // Sends the packets of a batch that Count counted, all over links like `served`. Packets that
  // arrive by `now` stay in `batch`, and they count as having left their links. For the others it
  // calls store(packet, number of the link). Returns how many packets stay. For links with packets
  // in the store.
  template <typename Store>
  size_t EnterSome(TimedArrays arrays, uint32_t first_link, const ServedLink& served,
                   const Descriptor* batch, const uint32_t* links, int count, uint64_t now,
                   const Store& store) {
    batch_ = batch;
    order_.Begin(ArrivalOf(batch[0]));
    const uint64_t until = std::min(now, ArrivalOf(batch[0]) + BatchOrder::kMostTicks);
    for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
      const uint32_t number = links[i] - first_link;
      const uint64_t far = Send(arrays, number, served, batch[i], until);
      if (far == 0) {
        store(batch[i], number);
      } else {
        order_.Add(far, i);
      }
    }
    Leave(order_.count(), arrays, first_link, links, order_.count() < static_cast<size_t>(count));
    return order_.count();
  }

  // Like EnterSome, for links without packets in the store; the packets of links without a queue
  // limit are not counted yet. Packets that arrive after `now` are kept here. If they cannot be
  // kept, it calls spill(), which must take all kept packets (TakeLater), and then store(arrival,
  // place in the batch) for each of these packets; packets of one link come in order of arrival.
  // Returns how many packets are kept.
  template <typename Spill, typename Store>
  size_t EnterAll(TimedArrays arrays, uint32_t first_link, const ServedLink& served,
                  const Descriptor* batch, const uint32_t* links, int count, uint64_t now,
                  const Spill& spill, const Store& store) {
    batch_ = batch;
    const uint64_t first = ArrivalOf(batch[0]) + served.delay;
    order_.Begin(first);
    std::array<uint32_t, kMost> beyond;    // places of packets that arrive long after the first one
    std::array<uint64_t, kMost> arrivals;  // when these packets arrive
    size_t beyond_count = 0;
    const uint32_t uncounted = served.queue_limit == 0 ? 1 : 0;
    BatchOrder::Adding adding = order_.StartAdding();
    for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
      const uint32_t number = links[i] - first_link;
      arrays.links[number].packets += uncounted;
      const uint64_t far = Send(arrays, number, served, batch[i], UINT64_MAX);
      if (far - first <= BatchOrder::kMostTicks) [[likely]] {
        adding.Add(far, i);
      } else {
        arrivals[beyond_count] = far;
        beyond[beyond_count++] = i;
      }
    }
    order_.AddAll(adding);
    order_.Sort();
    const size_t sorted = order_.count();
    size_t staying = sorted;
    while (staying > 0 && order_.TickOf(staying - 1) > now) --staying;
    const size_t kept = sorted - staying;
    Leave(staying, arrays, first_link, links, false);
    if (kept + beyond_count == 0) return 0;
    const bool keeps = beyond_count == 0 && later_.CanAdd(kept, order_.TickOf(staying));
    if (keeps) {
      KeepFrom(staying, arrays, first_link, links);
    } else {
      spill();
      for (size_t i = staying; i < sorted; ++i) store(order_.TickOf(i), order_.place(i));
      for (size_t i = 0; i < beyond_count; ++i) store(arrivals[i], beyond[i]);
    }
    order_.Keep(staying);
    return keeps ? kept : 0;
  }

  // No packet arrives before this TSC; UINT64_MAX: there is no packet.
  uint64_t NotBefore() const { return std::min(order_.NotBefore(), later_.NotBefore()); }
  // The same for packets that stay in their batch, and for packets that are kept.
  uint64_t StayingNotBefore() const { return order_.NotBefore(); }
  uint64_t LaterNotBefore() const { return later_.NotBefore(); }
  // Calls take(packet, arrival) for the next packets that stay in their batch and arrive by
  // `until`, at most `most`.
  template <typename Take>
  void TakeUntil(uint64_t until, size_t most, const Take& take) {
    order_.TakeUntil(until, most,
                     [&](uint64_t arrival, uint32_t place) { take(batch_[place], arrival); });
  }

  bool keeps_packets() const { return !later_.empty(); }
  // How many kept packets arrive by `now`.
  size_t CountLaterUntil(uint64_t now) const { return later_.CountUntil(now); }
  // Calls take(packet, arrival) for the next packets that are kept and arrive by `until`, at most
  // `most`. These packets leave their links. Returns how many packets it took.
  template <typename Take>
  size_t TakeLaterUntil(TimedArrays arrays, uint64_t until, size_t most, const Take& take) {
    return later_.TakeUntil(until, most, [&](const LaterPacket& later) {
      const uint32_t occupancy = --arrays.links[later.link].packets;
      NoteOccupancy(arrays.cold, later.link, occupancy);
      take(later.packet, later.arrival);
    });
  }
  // Calls take(a LaterPacket) for all packets that are kept, in order of arrival. They stay on
  // their links.
  template <typename Take>
  void TakeLater(const Take& take) {
    later_.TakeUntil(UINT64_MAX, later_.count(), take);
  }

 private:
  // Sends the packet and returns when it arrives at the far side. If it would arrive after `until`,
  // returns 0 and does not send it.
  [[gnu::always_inline]] static uint64_t Send(TimedArrays arrays, uint32_t number,
                                              const ServedLink& served, const Descriptor& packet,
                                              uint64_t until) {
    TimedLink& link = arrays.links[number];
    const LinkTime work = served.SendTime(packet.bytes);
    const FifoLink<StoredPackets>::Sending sending = link.fifo.SendingOf(ArrivalOf(packet), work);
    const uint64_t departure = sending.departure();
    const uint64_t far = std::max(departure + served.delay, link.latest);
    if (far > until) return 0;
    if (link.packets > link.most) [[unlikely]]
      NotePeak(&link, arrays.cold, number);
    link.fifo.Send(sending);
    link.latest = far;
    TimedCounters& counters = arrays.counters[number];
    counters.Count(packet.bytes);
    counters.AddBusy(TimedCounters::BusyOf(work), departure);
    return far;
  }
  // These functions do not take a TimedArrays, because a copy of it for each call would cost time
  // for every packet.
  static void NotePeak(TimedLink* link, LinkCold* cold, uint32_t number);
  static void NoteOccupancy(LinkCold* cold, uint32_t number, uint32_t packets);
  void KeepFrom(size_t first, TimedArrays arrays, uint32_t first_link, const uint32_t* links);
  void Leave(size_t count, TimedArrays arrays, uint32_t first_link, const uint32_t* links,
             bool some_stay);

  const Descriptor* batch_ = nullptr;
  BatchOrder order_;
  LaterPackets later_;
};

}  // namespace bfly::dataplane
