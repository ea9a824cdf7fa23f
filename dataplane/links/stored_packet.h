// SPDX-License-Identifier: Apache-2.0
// A packet that is at a link, and the heap that orders packets where a link does not serve them in
// the order of arrival. Numbers of entries stand in for pointers; 0 stands for no entry.
//
// A store has Stored<Packet>& at(uint32_t entry). ArrivalOf(packet) says when a packet came.
#pragma once

#include <cstdint>
#include <utility>

#include "dataplane/links/link_time.h"

namespace bfly::dataplane {

template <typename Packet>
struct alignas(64) Stored {
  Packet packet;
  // Until it is known when the packet leaves: the value by which the packet is ordered. Afterwards:
  // the tick of its arrival.
  uint64_t key;
  union {
    uint32_t key_fraction;  // 2^-32, until it is known when the packet leaves
    uint32_t link;          // afterwards
  };
  // The number of the packet among those that came to the link, modulo 2^24.
  uint32_t sequence : 24;
  uint32_t rank : 8;  // in a heap: steps down to the nearest missing child; fifo_link.h
  uint32_t next;      // in a list: the next entry; in a heap: the left child
  uint32_t right;     // in a heap: the right child; in a calendar: the next entry

  LinkTime full_key() const { return AtTick(key) | key_fraction; }
  void set_full_key(LinkTime value) {
    key = static_cast<uint64_t>(value >> kTickFractionBits);
    key_fraction = static_cast<uint32_t>(value);
  }

  // Packets with equal keys are in the order of arrival. Fewer than 2^23 packets that came in the
  // same tick wait at a link, so their sequence numbers tell the order although they wrap.
  bool IsBefore(const Stored& other) const {
    if (key != other.key) return key < other.key;
    if (key_fraction != other.key_fraction) return key_fraction < other.key_fraction;
    const uint64_t mine = ArrivalOf(packet), its = ArrivalOf(other.packet);
    if (mine != its) return mine < its;
    return ((uint32_t{sequence} - uint32_t{other.sequence}) & 0x80'0000u) != 0;
  }
};

// A leftist heap (Crane 1972): the first entry on top, all steps O(log n) at worst. MergeHeaps
// follows right children only: for n entries there are at most log2 n of them on its way. Returns
// the new top.
template <typename Store>
uint32_t MergeHeaps(Store& store, uint32_t a, uint32_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  if (store.at(b).IsBefore(store.at(a))) std::swap(a, b);
  auto& top = store.at(a);
  top.right = MergeHeaps(store, top.right, b);
  const auto rank = [&store](uint32_t entry) -> uint32_t {
    return entry == 0 ? 0 : store.at(entry).rank;
  };
  if (rank(top.next) < rank(top.right)) std::swap(top.next, top.right);
  top.rank = (rank(top.right) + 1) & 0xff;
  return a;
}

template <typename Store>
uint32_t HeapWith(Store& store, uint32_t top, uint32_t entry) {
  auto& added = store.at(entry);
  added.next = added.right = 0;
  added.rank = 1;
  return MergeHeaps(store, top, entry);
}

template <typename Store>
uint32_t HeapWithoutTop(Store& store, uint32_t top) {
  return MergeHeaps(store, store.at(top).next, store.at(top).right);
}

}  // namespace bfly::dataplane
