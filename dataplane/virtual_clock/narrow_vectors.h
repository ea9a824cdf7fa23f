// SPDX-License-Identifier: Apache-2.0
// The inner loops of the virtual clock for eight packets at a time, on CPUs with AVX2. As in
// packet_vectors.h a bucket of a window has at most one packet of a list, and a word of bits says
// which buckets have one. word_table.h says what a packet is.
#pragma once

#include "dataplane/virtual_clock/word_table.h"

#if BFLY_HAS_NARROW_VECTORS

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace bfly::dataplane {

// Packets in order of time, at most one in each bucket.
struct NarrowList {
  const uint32_t* offsets = nullptr;
  const uint32_t* handles = nullptr;
  uint32_t count = 0;
  uint32_t occupied = 0;  // a bit for each bucket of the window that holds a packet
};

struct NarrowTables {
  // The index says which of eight buckets hold a packet. The entry has for each lane its place
  // among these packets, or -1. Lanes hold buckets 0, 1, 4, 5, 2, 3, 6, 7, so that interleaving two
  // vectors, which the CPU does in each half of them, gives buckets in order.
  alignas(64) int8_t spread[256][kVector];
  // The index says which of eight lanes are wanted. The entry has these lanes, one after the other.
  alignas(64) uint8_t gather[256][kVector];
  // The bits of a byte, each with a zero above it.
  alignas(64) uint16_t apart[256];
};
inline constexpr int kBucketOfLane[kVector] = {0, 1, 4, 5, 2, 3, 6, 7};
inline constexpr NarrowTables kNarrowTables = [] {
  NarrowTables tables{};
  for (unsigned wanted = 0; wanted < 256; ++wanted) {
    uint8_t count = 0;
    for (unsigned lane = 0; lane < kVector; ++lane) {
      const int bucket = kBucketOfLane[lane];
      const int before = std::popcount(wanted & ((1u << bucket) - 1));
      tables.spread[wanted][lane] =
          (wanted >> bucket & 1) != 0 ? static_cast<int8_t>(before) : int8_t{-1};
      if ((wanted >> lane & 1) == 0) continue;
      tables.gather[wanted][count++] = static_cast<uint8_t>(lane);
      tables.apart[wanted] = static_cast<uint16_t>(tables.apart[wanted] | 1u << (2 * lane));
    }
  }
  return tables;
}();

// Packets for one port, in order of arrival.
struct NarrowArrivals {
  // This many packets are gathered before they are carried over the link.
  static constexpr uint32_t kMost = 64;
  static constexpr size_t kPlaces = kMost + kVector;
  uint32_t offsets[kPlaces] = {};
  uint32_t handles[kPlaces] = {};  // with buckets
  uint32_t count = 0;
};

// Parts the packets of a node by the port to which they go. The caller calls Done() at the end.
class NarrowSplitter {
 public:
  explicit NarrowSplitter(NarrowArrivals ports[2])
      : ports_(ports), end_{ports[0].offsets, ports[1].offsets} {}

  // Adds packets in order, with buckets in their handles. `valid`: a bit for each lane that has a
  // packet.
  BFLY_NARROW_VECTORS void Add(__m256i offsets, __m256i handles, uint64_t valid) {
    const uint64_t second = TopBits(handles);
    Gather(0, offsets, handles, valid & ~second);
    Gather(1, offsets, handles, valid & second);
  }

  // Merges two lists of `buckets` buckets in order of time. At equal times the packet of the first
  // list comes first.
  BFLY_NARROW_VECTORS void Merge(NarrowList first, NarrowList second, uint32_t buckets) {
    __m256i number = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);  // kBucketOfLane
    for (uint32_t bucket = 0; bucket < buckets; bucket += kVector) {
      const uint32_t here = first.occupied & 0xFF, there = second.occupied & 0xFF;
      const uint32_t valid =
          kNarrowTables.apart[here | there] | uint32_t{kNarrowTables.apart[here & there]} << 1;
      const Taken a = Take(first), b = Take(second);
      const __m256i early = _mm256_min_epu32(a.offsets, b.offsets);
      const __m256i late = _mm256_max_epu32(a.offsets, b.offsets);
      const __m256i from_first = _mm256_andnot_si256(a.empty, _mm256_cmpeq_epi32(early, a.offsets));
      const __m256i early_handles =
          _mm256_or_si256(Choose(b.handles, a.handles, from_first), number);
      const __m256i late_handles =
          _mm256_or_si256(Choose(a.handles, b.handles, from_first), number);
      Add(_mm256_unpacklo_epi32(early, late), _mm256_unpacklo_epi32(early_handles, late_handles),
          valid & 0xFFu);
      Add(_mm256_unpackhi_epi32(early, late), _mm256_unpackhi_epi32(early_handles, late_handles),
          valid >> 8);
      number = _mm256_add_epi32(number, _mm256_set1_epi32(kVector));
    }
  }

  // The wanted lanes of eight, one after the other.
  BFLY_NARROW_VECTORS static __m256i Wanted(uint64_t wanted) {
    return _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kNarrowTables.gather[wanted])));
  }

  void Done() {
    for (size_t port = 0; port < 2; ++port) {
      ports_[port].count = static_cast<uint32_t>(end_[port] - ports_[port].offsets);
    }
  }

 private:
  // Takes lanes of b where the mask is set, and lanes of a elsewhere. For a choice by bytes gcc
  // would compute the mask again.
  BFLY_NARROW_VECTORS static __m256i Choose(__m256i a, __m256i b, __m256i mask) {
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b),
                                                _mm256_castsi256_ps(mask)));
  }

  // One lane for each bucket.
  struct Taken {
    __m256i offsets;  // all ones where the bucket is empty
    __m256i handles;
    __m256i empty;
  };

  BFLY_NARROW_VECTORS static Taken Take(NarrowList& list) {
    const uint32_t here = list.occupied & 0xFF;
    const __m256i lanes = _mm256_cvtepi8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kNarrowTables.spread[here])));
    const __m256i empty = _mm256_srai_epi32(lanes, 31);
    const Taken taken = {
        _mm256_or_si256(_mm256_permutevar8x32_epi32(WordTable::Load(list.offsets), lanes), empty),
        _mm256_permutevar8x32_epi32(WordTable::Load(list.handles), lanes), empty};
    const auto count = static_cast<size_t>(std::popcount(here));
    list.offsets += count;
    list.handles += count;
    list.occupied >>= kVector;
    return taken;
  }

  BFLY_NARROW_VECTORS static uint64_t TopBits(__m256i lanes) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(lanes)));
  }

  BFLY_NARROW_VECTORS void Gather(size_t port, __m256i offsets, __m256i handles, uint64_t wanted) {
    const __m256i lanes = Wanted(wanted);
    // Handles stand at a fixed distance behind offsets.
    WordTable::Store(end_[port], _mm256_permutevar8x32_epi32(offsets, lanes));
    WordTable::Store(end_[port] + NarrowArrivals::kPlaces,
                     _mm256_permutevar8x32_epi32(handles, lanes));
    end_[port] += std::popcount(wanted);
  }

  NarrowArrivals* const ports_;
  uint32_t* end_[2];  // for each port: the place behind the last offset
};

// The values that all links of a window share. Times are scaled, and count from the window's start.
struct NarrowTimes {
  static constexpr size_t kTurns = NarrowArrivals::kMost / kVector;
  uint64_t service;
  // For the i-th vector of packets, in each lane: n service times (begins) and n + 1 service times
  // (ends), where n is the number of the packet. Lanes hold packets 0, 1, 4, 5 and 2, 3, 6, 7 of
  // the vector.
  alignas(32) uint64_t begins[kTurns][2][4];
  alignas(32) uint64_t ends[kTurns][2][4];

  explicit NarrowTimes(uint64_t scaled_service) : service(scaled_service) {
    for (size_t turn = 0; turn < kTurns; ++turn) {
      for (size_t lane = 0; lane < kVector; ++lane) {
        const size_t packet = kVector * turn + lane, half = lane / 2 % 2;
        const size_t place = lane % 2 + lane / 4 * 2;
        begins[turn][half][place] = packet * service;
        ends[turn][half][place] = (packet + 1) * service;
      }
    }
  }
};

// One window of a link: appends to the list at `offsets` and `handles`, in order of departure, and
// spoils kVector places behind the list.
class NarrowLink {
 public:
  BFLY_NARROW_VECTORS NarrowLink(const NarrowTimes& times, uint32_t* offsets, uint32_t* handles)
      : times_(times), offsets_(offsets), handles_(handles), occupied_(_mm256_setzero_si256()) {}

  // Sends packets that joined the link before the window: the first departs at `time`, the others
  // one service time after the other. Reads and writes whole vectors.
  BFLY_NARROW_VECTORS void Continue(const uint32_t* handles, uint32_t count, uint64_t time) {
    __m256i left = Left(count);
    for (uint32_t at = 0;;) {
      const __m256i next = _mm256_set1_epi64x(static_cast<int64_t>(time));
      Put(at, _mm256_add_epi64(next, WordTable::Load(times_.begins[0][0])),
          _mm256_add_epi64(next, WordTable::Load(times_.begins[0][1])),
          WordTable::Load(handles + at), Below(left));
      at += kVector;
      if (at >= count) break;
      time += kVector * times_.service;
      left = _mm256_sub_epi32(left, _mm256_set1_epi32(kVector));
    }
    Advance(count);
  }

  // Carries the arrivals over the link, which is free from `free` on, and sets `free` to the time
  // at which the link is free again. Adds departure - arrival of all packets to `delays`, lane by
  // lane, and returns how much it has added too much.
  BFLY_NARROW_VECTORS uint64_t Carry(const NarrowArrivals& arrivals, uint64_t& free,
                                     __m256i& delays) {
    const uint32_t count = arrivals.count;
    const __m256i bucket_mask = _mm256_set1_epi32(kBucketOfHandle);
    const __m256i tags = _mm256_set1_epi32(static_cast<int>(kTagsOfHandle));
    __m256i latest = _mm256_set1_epi64x(static_cast<int64_t>(free));
    __m256i left = Left(count), sum = delays;
    uint32_t at = 0;
    for (size_t turn = 0; at < count; at += kVector, ++turn) {
      const __m256i valid = Below(left);
      const __m256i handles = WordTable::Load(arrivals.handles + at);
      const __m256i buckets = _mm256_and_si256(handles, bucket_mask);
      const __m256i offsets = _mm256_and_si256(WordTable::Load(arrivals.offsets + at), valid);
      const __m256i valid_buckets = _mm256_and_si256(buckets, valid);
      // Lanes without a packet have time 0, which is not above `free`, so no other lane waits for
      // them.
      const __m256i time0 = _mm256_unpacklo_epi32(offsets, valid_buckets);
      const __m256i time1 = _mm256_unpackhi_epi32(offsets, valid_buckets);
      // The departure of packet i is D_i = max(free, max over j <= i of t_j - j service) + (i + 1)
      // service.
      __m256i begin0 = _mm256_sub_epi64(time0, WordTable::Load(times_.begins[turn][0]));
      __m256i begin1 = _mm256_sub_epi64(time1, WordTable::Load(times_.begins[turn][1]));
      begin0 = Later(begin0, _mm256_unpacklo_epi64(begin0, begin0));
      begin1 = Later(begin1, _mm256_unpacklo_epi64(begin1, begin1));
      begin1 = Later(begin1, _mm256_unpackhi_epi64(begin0, begin0));
      const __m256i third = _mm256_permute4x64_epi64(begin1, 0x55);
      const __m256i before = Later(latest, _mm256_blend_epi32(latest, third, 0xF0));
      begin0 = Later(begin0, before);
      begin1 = Later(begin1, before);
      latest = _mm256_permute4x64_epi64(begin1, 0xFF);
      const __m256i end0 = _mm256_add_epi64(begin0, WordTable::Load(times_.ends[turn][0]));
      const __m256i end1 = _mm256_add_epi64(begin1, WordTable::Load(times_.ends[turn][1]));
      sum = _mm256_add_epi64(sum, _mm256_sub_epi64(end0, time0));
      sum = _mm256_add_epi64(sum, _mm256_sub_epi64(end1, time1));
      // Adding the routing bits to themselves moves the next routing bit to the top.
      const __m256i next =
          _mm256_add_epi32(_mm256_xor_si256(handles, buckets), _mm256_and_si256(handles, tags));
      Put(at, end0, end1, next, valid);
      left = _mm256_sub_epi32(left, _mm256_set1_epi32(kVector));
    }
    delays = sum;
    const auto begin = static_cast<uint64_t>(_mm256_extract_epi64(latest, 0));
    free = begin + count * times_.service;
    Advance(count);
    // The empty lanes from `count` to `at` were counted as packets that arrived at 0 and departed
    // one behind the other.
    const uint64_t lanes = at - count,
                   numbers = (uint64_t{at} * (at + 1) - uint64_t{count} * (count + 1)) / 2;
    return lanes * begin + numbers * times_.service;
  }

  // A bit for each bucket of the window in which a packet leaves.
  BFLY_NARROW_VECTORS uint32_t occupied() const {
    __m128i bits =
        _mm_or_si128(_mm256_castsi256_si128(occupied_), _mm256_extracti128_si256(occupied_, 1));
    bits = _mm_or_si128(bits, _mm_unpackhi_epi64(bits, bits));
    bits = _mm_or_si128(bits, _mm_shuffle_epi32(bits, 0x55));
    return static_cast<uint32_t>(_mm_cvtsi128_si32(bits));
  }

 private:
  // Left: in each lane, how many of `count` packets there are from this lane on. Below: the lanes
  // that hold one of these packets.
  BFLY_NARROW_VECTORS static __m256i Left(uint32_t count) {
    return _mm256_sub_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  BFLY_NARROW_VECTORS static __m256i Below(__m256i left) {
    return _mm256_cmpgt_epi32(left, _mm256_setzero_si256());
  }
  BFLY_NARROW_VECTORS static __m256i Later(__m256i a, __m256i b) {
    return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(b, a));
  }
  BFLY_NARROW_VECTORS void Put(uint32_t at, __m256i end0, __m256i end1, __m256i handles,
                               __m256i valid) {
    WordTable::Store(offsets_ + at, WordTable::LowHalves(end0, end1));
    WordTable::Store(handles_ + at, handles);
    // Shifting by 32 or more leaves nothing.
    occupied_ = _mm256_or_si256(occupied_, _mm256_sllv_epi32(_mm256_srli_epi32(valid, 31),
                                                             WordTable::HighHalves(end0, end1)));
  }
  void Advance(uint32_t count) {
    offsets_ += count;
    handles_ += count;
  }

  const NarrowTimes& times_;
  uint32_t* offsets_;
  uint32_t* handles_;
  __m256i occupied_;
};

}  // namespace bfly::dataplane
#endif
