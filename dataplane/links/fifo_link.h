// SPDX-License-Identifier: Apache-2.0
// A link that serves packets in the order in which they come. It says when a packet leaves as soon
// as the packet comes, also if the packet has to wait: D = max(free, arrival) + work (link_time.h).
// The link keeps a list of its packets. When a caller first asks which packets wait (WaitingAt),
// the link finds that out from the list. From then on it counts the waiting packets, and the list
// holds only these, until a packet finds the link free: the list then begins anew with it. A packet
// that leaves before a caller can ask need not be in the list (Send).
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/links/link_time.h"

namespace bfly::dataplane {

// Store: see stored_packet.h; it has an entry 0, whose `next` is never read. The link owns `next`
// and `rank` of an entry; `rank` is 1 as long as the packet is on the link. `work(entry)` is the
// time that sending the packet takes, and every call returns the same time.
template <typename Store>
class FifoLink {
 public:
  // When the link has sent all that it was given.
  LinkTime free() const { return AtTick(free_tick_) | free_fraction_; }

  // Makes the link free at `free`, with no waiting packets, whatever it was given before.
  void BeFreeAt(LinkTime free) {
    free_tick_ = std::min(WholeTick(free), kLatestTick);
    free_fraction_ = static_cast<uint32_t>(free);
    waiting_ = next_ = 0;
    counts_ = 1;  // packets sent under other settings cannot be counted later
  }

  // A packet comes at tick `arrival`. Returns the first tick that is not before it leaves.
  uint64_t Add(uint64_t arrival, LinkTime work, uint32_t entry, Store& store) {
    if (counts_ != 0 && free() <= AtTick(arrival)) [[unlikely]]
      StopCounting();
    List(entry, store);
    if (counts_ != 0) [[unlikely]]
      CountAdded(entry);
    const Sending sending = SendingOf(arrival, work);
    Send(sending);
    return sending.departure();
  }

  // How the link would send a packet that comes at tick `arrival`. The link does not change.
  struct Sending {
    uint64_t tick;
    uint32_t fraction;
    // The first tick that is not before the packet leaves.
    uint64_t departure() const { return tick + (fraction != 0 ? 1 : 0); }
  };
  Sending SendingOf(uint64_t arrival, LinkTime work) const {
    // Ticks and fractions are added separately, which takes half the instructions of sums of 128
    // bits.
    const bool waits = free_tick_ >= arrival;
    const uint64_t fraction =
        (free_fraction_ & (uint64_t{0} - waits)) + static_cast<uint32_t>(work);
    const uint64_t tick =
        std::max(free_tick_, arrival) + WholeTick(work) + (fraction >> kTickFractionBits);
    return {std::min(tick, kLatestTick), static_cast<uint32_t>(fraction)};
  }
  // Sends a packet without listing it. It must have left, or List must have listed it, before the
  // next WaitingAt. Only while counts() is false.
  void Send(Sending sending) {
    free_tick_ = sending.tick;
    free_fraction_ = sending.fraction;
  }
  // Appends a packet that Send has sent, and that is still on the link, to the list. Only while
  // counts() is false.
  void List(uint32_t entry, Store& store) {
    auto& stored = store.at(entry);
    stored.sequence = 0;
    stored.rank = 1;
    stored.next = 0;
    const bool follows = counts_ != 0 ? waiting_ != 0 : first_ != 0;
    store.at(follows ? last_ : 0).next = entry;
    last_ = entry;
    first_ = first_ == 0 ? entry : first_;
  }
  // Whether the link counts the packets that wait.
  bool counts() const { return counts_ != 0; }
  // To be called when no packet waits. The packets on the link leave the list.
  void StopCounting() { first_ = waiting_ = next_ = counts_ = 0; }

  // How many packets wait at `now`. A packet whose sending begins at `now` does not wait.
  template <typename Work>
  uint32_t WaitingAt(LinkTime now, Store& store, const Work& work) {
    if (counts_ == 0) StartCounting(store, work);
    if (free() <= now) waiting_ = next_ = 0;
    while (waiting_ > 0 && begins_ <= now) BeginNext(store, work);
    return waiting_;
  }
  // After WaitingAt: when all packets that do not wait have left.
  LinkTime free_of_begun() const { return waiting_ > 0 ? begins_ : free(); }

  // A packet leaves the store. Packets leave in the order in which they came.
  template <typename Work>
  void Forget(uint32_t entry, Store& store, const Work& work) {
    if (entry == next_) [[unlikely]]
      BeginNext(store, work);
    if (entry == first_) first_ = store.at(entry).next;
  }

  // After WaitingAt: the packets that wait, the next one first, as a list by `next` of `count`
  // packets. They leave the link, which is then free when the packets that do not wait have left.
  struct Waiting {
    uint32_t first;
    uint32_t count;
  };
  Waiting TakeWaiting() {
    const Waiting taken = {next_, waiting_};
    BeFreeAt(free_of_begun());
    return taken;
  }

 private:
  // Counts a packet that comes before the link is free.
  void CountAdded(uint32_t entry) {
    if (waiting_++ != 0) return;
    next_ = entry;
    begins_ = free();
  }

  // Works back from the time at which the link is free, as if it had sent all listed packets
  // without a pause. The result is exact for packets that wait. After a pause, packets that came
  // before it seem to begin too late, but never later than the packet that ended the pause, which
  // does not wait.
  template <typename Work>
  void StartCounting(Store& store, const Work& work) {
    counts_ = 1;
    begins_ = free();
    next_ = first_;
    for (uint32_t entry = first_; entry != 0; entry = store.at(entry).next) {
      begins_ -= work(entry);
      ++waiting_;
    }
  }
  template <typename Work>
  void BeginNext(Store& store, const Work& work) {
    begins_ += work(next_);
    next_ = --waiting_ == 0 ? 0 : store.at(next_).next;
  }

  uint64_t free_tick_ = 0;  // free() is this and `free_fraction_` parts of a tick
  uint32_t free_fraction_ = 0;
  uint32_t first_ = 0;   // the first packet of the list; not used while the link counts
  LinkTime begins_ = 0;  // when the next waiting packet begins to be sent; only if packets wait
  uint32_t last_ = 0;    // the last packet of the list
  uint32_t next_ = 0;    // the waiting packet that is sent next; 0: no packet waits
  uint32_t waiting_ : 31 = 0;
  uint32_t counts_ : 1 = 0;  // 1: the link counts the packets that wait
};

}  // namespace bfly::dataplane
