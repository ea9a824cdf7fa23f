// SPDX-License-Identifier: Apache-2.0
// What one stage hands to the next under the virtual clock: for every link the packets that left it
// in one window of time, in order of departure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dataplane/virtual_clock/packet.h"
#include "topologies/page_array.h"

namespace bfly::dataplane {

// Packets in order of time, followed by an end mark, a packet whose time is kNever, so that merging
// two lists needs no bounds.
struct PacketList {
  const VirtualPacket* first = nullptr;
  uint32_t count = 0;
  uint32_t occupied = 0;  // buckets of the window that hold a packet (packet_vectors.h)
};
static_assert(sizeof(PacketList) == 16);

// The packets of the list before a time, summed over `times`.
uint64_t CountBefore(PacketList list, std::span<const Ticks> times);

// A list between two groups of stages is packed. It takes 12 bytes a packet: the words of all
// packets, and behind the words how far into its bucket each packet is. PackedPlaces is the number
// of places for packets that the list covers.
constexpr size_t PackedPlaces(size_t packets) {
  return (packets * (sizeof(PacketWord) + sizeof(uint32_t)) + sizeof(VirtualPacket) - 1) /
         sizeof(VirtualPacket);
}

// Memory for packets, all of which is given back at once.
class PacketArena {
 public:
  // So many places behind the last reserved one can be read.
  static constexpr size_t kReadAhead = 8;

  void Clear() { chunk_ = used_ = 0; }

  // `packets` consecutive places. Earlier ones stay where they are.
  VirtualPacket* Reserve(size_t packets) {
    if (chunk_ == chunks_.size() || used_ + packets + kReadAhead > chunks_[chunk_].size()) {
      Grow(packets + kReadAhead);
    }
    VirtualPacket* places = chunks_[chunk_].data() + used_;
    used_ += packets;
    return places;
  }

  size_t bytes() const;

 private:
  void Grow(size_t packets);

  std::vector<PageArray<VirtualPacket>> chunks_;
  size_t chunk_ = 0;  // the one that is being filled
  size_t used_ = 0;   // places of it
};

// The lists of all links between two stages, 2 * row + k being the k-th list that row `row` merges.
// Each worker fills places of its own, which it takes from all by the chunk.
class Boundary {
 public:
  // chunk: packets of a chunk.
  Boundary(size_t lists, int workers, size_t chunk);

  const PacketList* lists() const { return lists_.data(); }
  void Clear();
  // Makes a copy of `list` the boundary's list number `to`.
  void Store(int worker, size_t to, PacketList list);
  // The same, packed (packet_vectors.h), on CPUs with packet vectors alone: only PackedList reads
  // it.
  void Pack(int worker, size_t to, PacketList list, Ticks start, int bucket_bits);
  // Makes room for a packed list, which becomes number `to`. The caller writes it, and may spoil
  // kReadAhead places of a PacketArena behind it.
  VirtualPacket* Place(int worker, size_t to, uint32_t count, uint32_t occupied) {
    VirtualPacket* const places = Reserve(worker, std::max<size_t>(PackedPlaces(count), 1));
    lists_[to] = {places, count, occupied};
    return places;
  }
  size_t bytes() const;

 private:
  struct alignas(64) Places {
    VirtualPacket* next = nullptr;
    size_t left = 0;
  };

  // Makes room for so many packets.
  VirtualPacket* Reserve(int worker, size_t packets);
  void TakeChunk(size_t packets, Places& places);

  std::vector<PacketList> lists_;
  std::vector<Places> places_;  // by worker
  const size_t chunk_;
  std::unique_ptr<std::mutex> mutex_;  // of what follows, taken once a chunk
  std::vector<PageArray<VirtualPacket>> chunks_;
  size_t taken_ = 0;  // of them
};

}  // namespace bfly::dataplane
