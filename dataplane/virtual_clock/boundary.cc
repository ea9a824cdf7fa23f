// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/boundary.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dataplane/virtual_clock/narrow_vectors.h"
#include "dataplane/virtual_clock/packet_vectors.h"

namespace bfly::dataplane {

#if BFLY_HAS_PACKET_VECTORS
namespace {

BFLY_PACKET_VECTORS uint64_t CountBeforeInVectors(PacketList list, std::span<const Ticks> times) {
  uint64_t sum = 0;
  for (uint32_t at = 0; at < list.count; at += kVector) {
    const __m512i packets = LoadPackets(list.first + at).times;
    // bzhi takes its number modulo 256.
    const auto valid =
        static_cast<__mmask8>(_bzhi_u32(0xFF, std::min<uint32_t>(list.count - at, kVector)));
    for (const Ticks time : times) {
      const __mmask8 before = _mm512_mask_cmplt_epu64_mask(
          valid, packets, _mm512_set1_epi64(static_cast<int64_t>(time)));
      sum += static_cast<uint64_t>(std::popcount(_cvtmask8_u32(before)));
    }
  }
  return sum;
}

}  // namespace
#endif

#if BFLY_HAS_NARROW_VECTORS
namespace {

// The packets of the list from a multiple of four on are left to the caller.
BFLY_NARROW_VECTORS uint64_t CountFours(PacketList list, Ticks time) {
  const __m256i end = _mm256_set1_epi64x(static_cast<int64_t>(time));
  __m256i counts = _mm256_setzero_si256();
  for (uint32_t at = 0; at + 4 <= list.count; at += 4) {
    const __m256i times = _mm256_unpacklo_epi64(WordTable::Load(list.first + at),
                                                WordTable::Load(list.first + at + 2));
    counts = _mm256_sub_epi64(counts, _mm256_cmpgt_epi64(end, times));
  }
  uint64_t lanes[4];
  WordTable::Store(lanes, counts);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

}  // namespace
#endif

uint64_t CountBefore(PacketList list, std::span<const Ticks> times) {
#if BFLY_HAS_PACKET_VECTORS
  if (HasPacketVectors()) return CountBeforeInVectors(list, times);
#endif
  uint64_t sum = 0;
  uint32_t counted = 0;
#if BFLY_HAS_NARROW_VECTORS
  if (HasNarrowVectors()) {
    for (const Ticks time : times) sum += CountFours(list, time);
    counted = list.count / 4 * 4;
  }
#endif
  for (const Ticks time : times) {
    for (uint32_t i = counted; i < list.count; ++i) sum += list.first[i].time < time;
  }
  return sum;
}

void PacketArena::Grow(size_t packets) {
  if (used_ > 0) ++chunk_;
  used_ = 0;
  if (chunk_ < chunks_.size() && chunks_[chunk_].size() >= packets) return;
  // The chunk gets some more places, since windows differ.
  PageArray<VirtualPacket> chunk(std::max<size_t>(packets + packets / 8, 512));
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
    : lists_(lists),
      places_(static_cast<size_t>(workers)),
      chunk_(chunk),
      mutex_(std::make_unique<std::mutex>()) {}

void Boundary::Clear() {
  taken_ = 0;
  for (Places& places : places_) places = {};
}

void Boundary::TakeChunk(size_t packets, Places& places) {
  const size_t least = packets + PacketArena::kReadAhead;
  const std::scoped_lock lock(*mutex_);
  if (taken_ == chunks_.size()) {
    chunks_.emplace_back(std::max(least, chunk_));
  } else if (chunks_[taken_].size() < least) {
    chunks_[taken_] = PageArray<VirtualPacket>(least + least / 4);
  }
  PageArray<VirtualPacket>& chunk = chunks_[taken_++];
  places = {chunk.data(), chunk.size() - PacketArena::kReadAhead};
}

VirtualPacket* Boundary::Reserve(int worker, size_t packets) {
  Places& places = places_[static_cast<size_t>(worker)];
  if (places.left < packets) TakeChunk(packets, places);
  VirtualPacket* const first = places.next;
  places.next += packets;
  places.left -= packets;
  return first;
}

void Boundary::Store(int worker, size_t to, PacketList list) {
  VirtualPacket* const places = Reserve(worker, list.count + size_t{1});  // with the end mark
  std::copy_n(list.first, list.count, places);
  places[list.count].time = kNever;
  lists_[to] = {places, list.count, list.occupied};
}

#if BFLY_HAS_PACKET_VECTORS
void Boundary::Pack(int worker, size_t to, PacketList list, Ticks start, int bucket_bits) {
  PackPackets(list.first, list.count, start, bucket_bits,
              Place(worker, to, list.count, list.occupied));
}
#endif

size_t Boundary::bytes() const {
  size_t sum = lists_.size() * sizeof(PacketList) + places_.size() * sizeof(Places);
  for (const auto& chunk : chunks_) sum += chunk.bytes();
  return sum;
}

}  // namespace bfly::dataplane
