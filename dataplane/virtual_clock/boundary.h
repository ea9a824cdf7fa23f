// SPDX-License-Identifier: Apache-2.0
// The packets that one stage hands to the next under the virtual clock: for every link, the packets
// that left it in one window of time, in order of departure.
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
  // A bit for each bucket of the window that holds a packet (packet_vectors.h).
  uint32_t occupied = 0;
};
static_assert(sizeof(PacketList) == 16);

// For each of `times`, counts the packets of the list before it. Returns the sum of the counts.
uint64_t CountBefore(PacketList list, std::span<const Ticks> times);

// A list between two groups of stages is packed. It takes 12 bytes for each packet: the words of
// all packets, and behind the words how far into its bucket each packet is. PackedPlaces is the
// number of places for packets that the list covers.
constexpr size_t PackedPlaces(size_t packets) {
  return (packets * (sizeof(PacketWord) + sizeof(uint32_t)) + sizeof(VirtualPacket) - 1) /
         sizeof(VirtualPacket);
}

// Memory for packets. All of it is given back at once.
class PacketArena {
 public:
  // A reader may read this many places behind the last reserved one.
  static constexpr size_t kReadAhead = 8;

  void Clear() { chunk_ = used_ = 0; }

  // Reserves `packets` consecutive places. Places reserved earlier stay where they are.
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
  size_t chunk_ = 0;  // the chunk that is being filled
  size_t used_ = 0;   // places of it
};

// The lists of all links between two stages, where number 2 * row + k is the k-th list that row
// `row` merges. Each worker fills places of its own, and takes them from the common memory in
// chunks.
class Boundary {
 public:
  // `chunk`: how many packets a chunk holds.
  Boundary(size_t lists, int workers, size_t chunk);

  const PacketList* lists() const { return lists_.data(); }
  void Clear();
  // Makes a copy of `list` the boundary's list number `to`.
  void Store(int worker, size_t to, PacketList list);
  // Makes a packed copy of `list` (packet_vectors.h) the boundary's list number `to`. Only on CPUs
  // with packet vectors. Only PackedList reads such a list.
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

  // Makes room for `packets` packets.
  VirtualPacket* Reserve(int worker, size_t packets);
  void TakeChunk(size_t packets, Places& places);

  std::vector<PacketList> lists_;
  std::vector<Places> places_;  // the places of each worker
  const size_t chunk_;
  // Guards the members below; a worker locks it once for each chunk.
  std::unique_ptr<std::mutex> mutex_;
  std::vector<PageArray<VirtualPacket>> chunks_;
  size_t taken_ = 0;  // how many of chunks_ are taken
};

}  // namespace bfly::dataplane
