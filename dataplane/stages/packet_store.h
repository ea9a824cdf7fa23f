// SPDX-License-Identifier: Apache-2.0
// Memory set aside for packets that are on links of one worker.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dataplane/core/descriptor.h"
#include "dataplane/links/stored_packet.h"

namespace bfly::dataplane {

using StoredPacket = Stored<Descriptor>;
static_assert(sizeof(StoredPacket) == 64);

// On links that serve by priority the packet of the highest priority goes first.
inline uint64_t UrgencyOf(const Descriptor& packet) { return uint64_t{7} - packet.priority; }

// All entries of a store. Loops copy it to a local, so that no store to memory makes them read the
// pointer again.
class StoredPackets {
 public:
  explicit StoredPackets(StoredPacket* entries) : entries_(entries) {}
  StoredPacket& at(uint32_t entry) const { return entries_[entry]; }

 private:
  StoredPacket* entries_;
};

// Address space is taken at once and memory only as it is used. One worker uses the store, or
// control before the worker knows of it.
class PacketStore {
 public:
  // If the system refuses the address space, the store has room for no packet.
  explicit PacketStore(size_t bytes);
  ~PacketStore();
  PacketStore(const PacketStore&) = delete;
  PacketStore& operator=(const PacketStore&) = delete;

  bool has_address_space() const { return capacity_ > 1; }

  // Returns an entry; 0: all entries are in use.
  uint32_t Take() {
    if (room() == 0) [[unlikely]]
      return 0;
    return given_ > 0 ? given_back_[--given_] : used_++;
  }
  // How many packets can still be taken or set aside.
  size_t room() const { return size_t{capacity_} - used_ + given_ - set_aside_; }
  // SetAside: `packets` packets, for which there is room, are kept elsewhere. They count as if they
  // were in the store. PutBack: they are no longer kept there.
  void SetAside(size_t packets) { set_aside_ += packets; }
  void PutBack(size_t packets) { set_aside_ -= packets; }
  size_t set_aside() const { return set_aside_; }
  void Give(uint32_t entry) { given_back_[given_++] = entry; }
  void Give(const uint32_t* entries, uint32_t count) {
    std::copy_n(entries, count, given_back_ + given_);
    given_ += count;
  }
  StoredPackets packets() const { return StoredPackets(entries_); }

 private:
  StoredPacket* entries_;
  // The entries that were given back; the last one is on top. A list through the entries would make
  // every Take wait for memory.
  uint32_t* given_back_;
  uint32_t capacity_;  // number of entries; entry 0 is not used
  uint32_t used_ = 1;  // how many entries were ever handed out, plus entry 0
  uint32_t given_ = 0;
  size_t set_aside_ = 0;
  const uint32_t mapped_;  // the number of entries that entries_ and given_back_ were made for
};

}  // namespace bfly::dataplane
