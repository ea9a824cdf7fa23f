// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/boundary.h"

#include <algorithm>
#include <utility>

namespace bfly::dataplane {

void PacketArena::Grow(size_t packets) {
  if (used_ > 0) ++chunk_;
  used_ = 0;
  if (chunk_ < chunks_.size() && chunks_[chunk_].size() >= packets) return;
  // A quarter more, since windows differ.
  PageArray<VirtualPacket> chunk(std::max(packets + packets / 4, least_));
  if (chunk_ == chunks_.size()) {
    chunks_.push_back(std::move(chunk));
  } else {
    chunks_[chunk_] = std::move(chunk);
  }
}

size_t PacketArena::bytes() const {
  size_t sum = 0;
  for (const auto& chunk : chunks_) sum += chunk.bytes();
  return sum;
}

Boundary::Boundary(size_t lists, int workers, size_t chunk)
    : lists_(lists), arenas_(static_cast<size_t>(workers)) {
  for (PacketArena& arena : arenas_) arena.set_chunk(chunk);
}

void Boundary::Clear() {
  for (PacketArena& arena : arenas_) arena.Clear();
}

void Boundary::Store(int worker, size_t to, PacketList list) {
  VirtualPacket* places = arenas_[static_cast<size_t>(worker)].Reserve(list.count + size_t{1});
  std::copy_n(list.first, list.count, places);
  places[list.count].time = kNever;
  lists_[to] = {places, list.count, list.occupied};
}

size_t Boundary::bytes() const {
  size_t sum = lists_.size() * sizeof(PacketList);
  for (const PacketArena& arena : arenas_) sum += arena.bytes();
  return sum;
}

}  // namespace bfly::dataplane
