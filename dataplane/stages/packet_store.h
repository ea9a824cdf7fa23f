// SPDX-License-Identifier: Apache-2.0
// Memory set aside for packets that are on links of one worker, and the heap that orders them where
// a link does not serve them in the order they came.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/core/descriptor.h"

namespace bfly::dataplane {

// A packet on a link. Numbers of entries stand in for pointers; 0 is none.
struct StoredPacket {
  Descriptor packet;
  uint64_t key;            // on the way: TSC of its arrival; in a heap: what it is ordered by
  uint64_t sequence : 56;  // of its arrival at the link: orders equal keys
  uint64_t rank : 8;       // in a heap: steps down to the nearest missing child
  uint32_t next;           // in a list: the one behind it; in a heap: left child
  uint32_t right;          // in a heap
};
static_assert(sizeof(StoredPacket) == 64);

// Address space is taken at once and memory only as it is used. One worker, or control before the
// worker knows of it.
class PacketStore {
 public:
  // Aborts if not even the address space can be had.
  explicit PacketStore(size_t bytes);
  ~PacketStore();
  PacketStore(const PacketStore&) = delete;
  PacketStore& operator=(const PacketStore&) = delete;

  // 0: all are in use.
  uint32_t Take() {
    if (free_ != 0) {
      const uint32_t entry = free_;
      free_ = entries_[entry].next;
      return entry;
    }
    return used_ < capacity_ ? used_++ : 0;
  }
  void Give(uint32_t entry) {
    entries_[entry].next = free_;
    free_ = entry;
  }
  StoredPacket& at(uint32_t entry) { return entries_[entry]; }

  // A leftist heap (Crane 1972): the smallest (key, sequence) on top, all steps O(log n) at worst.
  // Returns the new top.
  uint32_t HeapAdd(uint32_t top, uint32_t entry) {
    entries_[entry].next = entries_[entry].right = 0;
    entries_[entry].rank = 1;
    return Merge(top, entry);
  }
  uint32_t HeapWithoutTop(uint32_t top) { return Merge(entries_[top].next, entries_[top].right); }

 private:
  uint32_t Merge(uint32_t a, uint32_t b);

  StoredPacket* entries_;
  uint32_t capacity_;  // entries, number 0 not used
  uint32_t used_ = 1;  // entries ever handed out, and number 0
  uint32_t free_ = 0;
};

}  // namespace bfly::dataplane
