// SPDX-License-Identifier: Apache-2.0
// A link that serves packets in the order in which they come. It says when a packet leaves as soon
// as the packet comes, also if the packet has to wait: D = max(free, arrival) + work (link_time.h).
// The packets that wait are kept as a list, and those that have begun to be sent leave the list
// only when somebody asks who waits.
#pragma once

#include <cstdint>

#include "dataplane/links/link_time.h"

namespace bfly::dataplane {

// Store: see stored_packet.h. The link owns `next` and `rank` of an entry: 1 if the packet had to
// wait. `work(entry)` is the time that sending takes, the same whenever it is asked.
template <typename Store>
class FifoLink {
 public:
  FifoLink() = default;
  // Without packets, and free at `free`.
  explicit FifoLink(LinkTime free) { link_.Send(free, 0); }

  // When the link has sent all that it was given.
  LinkTime free() const { return link_.free(); }

  // A packet comes at `now`. Returns when it leaves.
  LinkTime Add(LinkTime now, LinkTime work, uint32_t entry, Store& store) {
    auto& stored = store.at(entry);
    if (link_.free() <= now) {
      waiting_ = 0;  // all packets before this one have left
      stored.rank = 0;
    } else {
      stored.rank = 1;
      Append(entry, store);
    }
    return link_.Send(now, work);
  }

  // The packets that wait at `now`. A packet whose sending begins at `now` does not wait.
  template <typename Work>
  uint32_t WaitingAt(LinkTime now, Store& store, const Work& work) {
    if (link_.free() <= now) waiting_ = 0;
    while (waiting_ > 0 && begins_ <= now) BeginFirst(store, work);
    return waiting_;
  }
  // After WaitingAt: when all that do not wait have left.
  LinkTime free_of_begun() const { return waiting_ > 0 ? begins_ : link_.free(); }

  // A packet that had to wait leaves the store. Packets leave in the order in which they came.
  template <typename Work>
  void Forget(uint32_t entry, Store& store, const Work& work) {
    if (waiting_ > 0 && first_ == entry) BeginFirst(store, work);
  }

  // After WaitingAt: the packets that wait, the next one first, as a list by `next` of `count`
  // packets. They leave the link, which is then free when the packets that do not wait have left.
  struct Waiting {
    uint32_t first;
    uint32_t count;
  };
  Waiting TakeWaiting() {
    const Waiting taken = {first_, waiting_};
    *this = FifoLink(free_of_begun());
    return taken;
  }

 private:
  void Append(uint32_t entry, Store& store) {
    if (waiting_++ == 0) {
      first_ = entry;
      begins_ = link_.free();
    } else {
      store.at(last_).next = entry;
    }
    last_ = entry;
  }
  template <typename Work>
  void BeginFirst(Store& store, const Work& work) {
    begins_ += work(first_);
    first_ = store.at(first_).next;
    --waiting_;
  }

  OneAtATime<LinkTime> link_;
  LinkTime begins_ = 0;  // if packets wait: when the first of them begins to be sent
  uint32_t first_ = 0;   // packets that wait: a list by `next`
  uint32_t last_ = 0;
  uint32_t waiting_ = 0;
};

}  // namespace bfly::dataplane
