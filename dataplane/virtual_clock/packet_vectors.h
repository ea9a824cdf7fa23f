// SPDX-License-Identifier: Apache-2.0
// The inner loops of the virtual clock for eight packets at a time, on CPUs with AVX-512.
//
// All links of these stages take the same time. A *bucket* is a power of two of ticks that is not
// longer than this time. Packets leave a link at least a bucket apart, so each bucket of a window
// has at most one packet of a list, and a word of bits says which buckets have one: the list's
// `occupied`. Two lists that are spread out by their bits are merged by one comparison for each
// bucket, with no branch and no chain from packet to packet.
//
// Functions that call these have the same BFLY_PACKET_VECTORS before them.
#pragma once

#if defined(__x86_64__)
#define BFLY_HAS_PACKET_VECTORS 1
#define BFLY_PACKET_VECTORS [[gnu::target("avx512f,avx512dq,avx512vl,avx512cd,bmi,bmi2,popcnt")]]

// gcc 12 warns of values that its own intrinsics leave undefined on purpose (gcc bug 105593), here
// and wherever these functions are inlined.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <immintrin.h>

#include <bit>
#include <cstdint>

#include "dataplane/virtual_clock/packet.h"

namespace bfly::dataplane {

inline constexpr int kVector = 8;  // packets

// Whether this CPU has the instructions that BFLY_PACKET_VECTORS asks for.
inline bool HasPacketVectors() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has;
}

// Eight packets, with times and words in separate vectors.
struct PacketVector {
  __m512i times;
  __m512i words;
};

// Reads whole vectors: memory behind the last packet of a list must be readable.
BFLY_PACKET_VECTORS inline PacketVector LoadPackets(const VirtualPacket* packets) {
  const __m512i low = _mm512_loadu_si512(packets), high = _mm512_loadu_si512(packets + 4);
  const __m512i times = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
  const __m512i words = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
  return {_mm512_permutex2var_epi64(low, times, high), _mm512_permutex2var_epi64(low, words, high)};
}

BFLY_PACKET_VECTORS inline void StorePackets(VirtualPacket* to, PacketVector packets) {
  const __m512i low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
  const __m512i high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
  _mm512_storeu_si512(to, _mm512_permutex2var_epi64(packets.times, low, packets.words));
  _mm512_storeu_si512(to + 4, _mm512_permutex2var_epi64(packets.times, high, packets.words));
}

// The value of the lanes that an expansion or a compression leaves unset. Zero would be correct,
// but slower: the CPU would then wait for the previous value of the target register (Zen 5: five
// cycles, one after the other).
BFLY_PACKET_VECTORS inline __m512i Filling() { return _mm512_set1_epi64(-1); }

// Places of packets in pairs of vectors. The index says which of eight lanes are wanted. Reading
// eight bytes of these tables and permuting by them takes less than an expansion or a compression.
struct LaneTables {
  // The lane's packet in a list of packets, whose times are the even words: twice the number of
  // wanted lanes before it. -1 for lanes that are not wanted.
  alignas(64) int8_t spread[256][kVector];
  // Two vectors a and b interleaved are a0, b0, a1, b1, ... The entry has the wanted ones of the
  // first eight of these, as permutations of two vectors count them, and 0 behind them; adding 4
  // gives the wanted ones of the last eight.
  alignas(64) int8_t gather[256][kVector];
};
inline constexpr LaneTables kLanesOf = [] {
  LaneTables tables{};
  for (size_t wanted = 0; wanted < 256; ++wanted) {
    size_t count = 0;
    for (size_t lane = 0; lane < kVector; ++lane) {
      const bool is_wanted = (wanted >> lane & 1) != 0;
      tables.spread[wanted][lane] = is_wanted ? static_cast<int8_t>(2 * count) : int8_t{-1};
      if (is_wanted) {
        tables.gather[wanted][count++] =
            static_cast<int8_t>(lane / 2 + (lane % 2 == 0 ? 0 : kVector));
      }
    }
  }
  return tables;
}();

BFLY_PACKET_VECTORS inline __m512i LoadLanes(const int8_t lanes[kVector]) {
  return _mm512_cvtepi8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lanes)));
}

// A list on its way into a merge: one vector for every eight buckets. Empty buckets have the time
// kNever.
struct SpreadList {
  const VirtualPacket* next;
  uint64_t occupied;  // a bit for each bucket to come that holds a packet

  BFLY_PACKET_VECTORS PacketVector Take() {
    const uint64_t here = occupied & 0xFF;
    const __m512i low = _mm512_loadu_si512(next), high = _mm512_loadu_si512(next + 4);
    const __m512i times = LoadLanes(kLanesOf.spread[here]);
    const __m512i words = _mm512_add_epi64(times, _mm512_set1_epi64(1));
    next += std::popcount(here);
    occupied >>= kVector;
    // Lanes without a packet keep the -1 of the table, which is kNever.
    return {_mm512_mask2_permutex2var_epi64(low, times, static_cast<__mmask8>(here), high),
            _mm512_permutex2var_epi64(low, words, high)};
  }
};

// Packs `count` packets of a window that starts at `start`, and spoils kVector places behind them.
// A bucket is 2^bucket_bits ticks; bucket_bits is at most kMostBucketBits.
BFLY_PACKET_VECTORS inline void PackPackets(const VirtualPacket* packets, uint32_t count,
                                            Ticks start, int bucket_bits, VirtualPacket* to) {
  const __m512i starts = _mm512_set1_epi64(static_cast<int64_t>(start));
  const __m512i inside = _mm512_set1_epi64((int64_t{1} << bucket_bits) - 1);
  char* const words = reinterpret_cast<char*>(to);
  char* const offsets = words + count * sizeof(PacketWord);
  for (uint32_t at = 0; at < count; at += kVector) {
    _mm512_storeu_si512(words + at * sizeof(PacketWord), LoadPackets(packets + at).words);
  }
  for (uint32_t at = 0; at < count; at += kVector) {
    const __m512i times = LoadPackets(packets + at).times;
    _mm256_storeu_si256(
        reinterpret_cast<__m256i*>(offsets + at * sizeof(uint32_t)),
        _mm512_cvtepi64_epi32(_mm512_and_si512(_mm512_sub_epi64(times, starts), inside)));
  }
}

// A packed list on its way into a merge, as SpreadList.
struct PackedList {
  const char* words;
  const char* offsets;
  uint64_t occupied;
  __m512i buckets;  // when the next eight buckets begin
  __m512i stride;   // the length of eight buckets, in each lane

  BFLY_PACKET_VECTORS PackedList(const VirtualPacket* list, uint32_t count,
                                 uint32_t occupied_buckets, Ticks start, int bucket_bits)
      : words(reinterpret_cast<const char*>(list)),
        offsets(words + count * sizeof(PacketWord)),
        occupied(occupied_buckets),
        buckets(_mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(start)),
                                 _mm512_sll_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7),
                                                  _mm_cvtsi32_si128(bucket_bits)))),
        stride(_mm512_set1_epi64(int64_t{kVector} << bucket_bits)) {}

  BFLY_PACKET_VECTORS PacketVector Take() {
    const uint64_t here = occupied & 0xFF;
    const __m512i lanes = _mm512_srli_epi64(LoadLanes(kLanesOf.spread[here]), 1);
    const __m512i inside = _mm512_permutexvar_epi64(
        lanes,
        _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(offsets))));
    const PacketVector packets = {
        _mm512_mask_add_epi64(Filling(), static_cast<__mmask8>(here), buckets, inside),
        _mm512_permutexvar_epi64(lanes, _mm512_loadu_si512(words))};
    const auto count = static_cast<size_t>(std::popcount(here));
    words += count * sizeof(PacketWord);
    offsets += count * sizeof(uint32_t);
    occupied >>= kVector;
    buckets = _mm512_add_epi64(buckets, stride);
    return packets;
  }
};

// Packets for one port, in order of arrival.
struct PortArrivals {
  // This many packets are gathered before they are carried over the link. There is room for one
  // more vector.
  static constexpr uint32_t kMost = 64;
  Ticks times[kMost + kVector];
  PacketWord words[kMost + kVector];  // after the hop
  uint32_t count = 0;
};

// Parts the packets of a node by the port to which they go. The caller calls Done() at the end.
class PortSplitter {
 public:
  explicit PortSplitter(PortArrivals ports[2]) : ports_(ports) {}

  // `valid`: a bit for each lane that has a packet.
  BFLY_PACKET_VECTORS void Add(PacketVector packets, uint32_t valid) {
    const __mmask8 all = _cvtu32_mask8(valid), second = _mm512_movepi64_mask(packets.words);
    packets.words = _mm512_rol_epi64(packets.words, 1);
    Append(0, packets, _kandn_mask8(second, all));
    Append(1, packets, _kand_mask8(second, all));
  }

  // Merges the next eight buckets of two lists in order of time. At equal times the packet of the
  // first list comes first.
  template <typename List>
  BFLY_PACKET_VECTORS void Merge(List& first, List& second) {
    const auto either = static_cast<uint32_t>((first.occupied | second.occupied) & 0xFF);
    const auto both = static_cast<uint32_t>(first.occupied & second.occupied & 0xFF);
    const PacketVector a = first.Take(), b = second.Take();
    const __mmask8 from_second = _mm512_cmplt_epu64_mask(b.times, a.times);
    const PacketVector early = {_mm512_min_epu64(a.times, b.times),
                                _mm512_mask_blend_epi64(from_second, a.words, b.words)};
    const PacketVector late = {_mm512_max_epu64(a.times, b.times),
                               _mm512_mask_blend_epi64(from_second, b.words, a.words)};
    const uint32_t valid = _pdep_u32(either, 0x5555) | _pdep_u32(both, 0xAAAA);
    const uint32_t crosses = _pdep_u32(_cvtmask8_u32(_mm512_movepi64_mask(early.words)), 0x5555) |
                             _pdep_u32(_cvtmask8_u32(_mm512_movepi64_mask(late.words)), 0xAAAA);
    const PacketVector after[2] = {{early.times, _mm512_rol_epi64(early.words, 1)},
                                   {late.times, _mm512_rol_epi64(late.words, 1)}};
    const uint32_t to_first = valid & ~crosses, to_second = valid & crosses;
    Gather(0, after, to_first & 0xFF, 0);
    Gather(1, after, to_second & 0xFF, 0);
    Gather(0, after, to_first >> 8, kVector / 2);
    Gather(1, after, to_second >> 8, kVector / 2);
  }

  // Merges all of two lists of `buckets` buckets.
  template <typename List>
  BFLY_PACKET_VECTORS void MergeAll(List first, List second, uint32_t buckets) {
    for (uint32_t bucket = 0; bucket < buckets; bucket += kVector) Merge(first, second);
  }

  void Done() {
    for (size_t port = 0; port < 2; ++port) ports_[port].count = count_[port];
  }

 private:
  BFLY_PACKET_VECTORS void Append(size_t port, PacketVector packets, __mmask8 which) {
    _mm512_storeu_si512(ports_[port].times + count_[port],
                        _mm512_mask_compress_epi64(Filling(), which, packets.times));
    _mm512_storeu_si512(ports_[port].words + count_[port],
                        _mm512_mask_compress_epi64(Filling(), which, packets.words));
    count_[port] += static_cast<uint32_t>(std::popcount(_cvtmask8_u32(which)));
  }

  // Appends the wanted packets of two interleaved vectors. `from`: the first pair of lanes.
  BFLY_PACKET_VECTORS void Gather(size_t port, const PacketVector pair[2], uint32_t wanted,
                                  int64_t from) {
    const __m512i lanes =
        _mm512_add_epi64(LoadLanes(kLanesOf.gather[wanted]), _mm512_set1_epi64(from));
    _mm512_storeu_si512(ports_[port].times + count_[port],
                        _mm512_permutex2var_epi64(pair[0].times, lanes, pair[1].times));
    _mm512_storeu_si512(ports_[port].words + count_[port],
                        _mm512_permutex2var_epi64(pair[0].words, lanes, pair[1].words));
    count_[port] += static_cast<uint32_t>(std::popcount(wanted));
  }

  PortArrivals* const ports_;
  uint32_t count_[2] = {0, 0};
};

// The values that all links of a window share.
struct VectorWindow {
  __m512i start;    // the start of the first bucket
  __m512i end;      // the end of the window
  __m128i bits;     // a bucket is 2^bits ticks
  __m512i service;  // in each lane
  __m512i spaced;   // 0, 1, ... 7 service times
  __m512i stride;   // 8 service times in each lane
  Ticks ticks;      // the service time

  BFLY_PACKET_VECTORS VectorWindow(Ticks window_start, Ticks window_end, int bucket_bits,
                                   Ticks ticks_of_service)
      : start(_mm512_set1_epi64(static_cast<int64_t>(window_start))),
        end(_mm512_set1_epi64(static_cast<int64_t>(window_end))),
        bits(_mm_cvtsi32_si128(bucket_bits)),
        service(_mm512_set1_epi64(static_cast<int64_t>(ticks_of_service))),
        spaced(_mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), service)),
        stride(_mm512_slli_epi64(service, 3)),
        ticks(ticks_of_service) {}
};

// One window of a link: appends to `out`, in order of departure, and spoils kSpoilt places behind
// them.
class VectorLink {
 public:
  static constexpr size_t kSpoilt = 2 * kVector;

  BFLY_PACKET_VECTORS VectorLink(const VectorWindow& window, VirtualPacket* out)
      : window_(window), out_(out), occupied_(_mm512_setzero_si512()) {}

  // Sends packets that joined the link before the window: the first departs at `time`, the others
  // one service time after the other. Reads and writes whole vectors.
  BFLY_PACKET_VECTORS void Continue(const PacketWord* words, uint32_t count, Ticks time) {
    __m512i times = _mm512_add_epi64(window_.spaced, _mm512_set1_epi64(static_cast<int64_t>(time)));
    for (uint32_t at = 0;; at += kVector) {
      StorePackets(out_ + at, {times, _mm512_loadu_si512(words + at)});
      Occupy(times, Below(count, at));
      if (at + kVector >= count) break;
      times = _mm512_add_epi64(times, window_.stride);
    }
    out_ += count;
  }

  // Carries the arrivals over the link, which is free from `free` on, and sets `free` to the time
  // at which the link is free again. Returns the sum of departure - arrival, a part of it in each
  // lane.
  BFLY_PACKET_VECTORS __m512i Carry(const PortArrivals& arrivals, Ticks& free) {
    const uint32_t count = arrivals.count;
    const __m512i zero = _mm512_setzero_si512();
    __m512i latest = _mm512_set1_epi64(static_cast<int64_t>(free));
    __m512i delays = zero, spaced = window_.spaced;
    // The loop always takes two vectors, because whether the second is needed is as good as random.
    for (uint32_t at = 0; at == 0 || at < count; at += 2 * kVector) {
      for (uint32_t half = at; half < at + 2 * kVector; half += kVector) {
        const __mmask8 valid = Below(count, half);
        const __m512i times = _mm512_loadu_si512(arrivals.times + half);
        // The departure of packet i is D_i = max(free, max over j <= i of t_j - j service) + (i +
        // 1) service. The result of earlier vectors joins last, so that vectors wait little for one
        // another.
        __m512i begin = _mm512_maskz_sub_epi64(valid, times, spaced);
        begin = _mm512_max_epi64(begin, _mm512_alignr_epi64(begin, zero, 7));
        begin = _mm512_max_epi64(begin, _mm512_alignr_epi64(begin, zero, 6));
        begin = _mm512_max_epi64(begin, _mm512_alignr_epi64(begin, zero, 4));
        const __m512i last = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), begin);
        begin = _mm512_max_epi64(begin, latest);
        latest = _mm512_max_epi64(latest, last);
        const __m512i departures =
            _mm512_add_epi64(begin, _mm512_add_epi64(spaced, window_.service));
        delays = _mm512_mask_add_epi64(delays, valid, delays, _mm512_sub_epi64(departures, times));
        StorePackets(out_ + half, {departures, _mm512_loadu_si512(arrivals.words + half)});
        Occupy(departures, valid);
        spaced = _mm512_add_epi64(spaced, window_.stride);
      }
    }
    free = static_cast<Ticks>(_mm_cvtsi128_si64(_mm512_castsi512_si128(latest))) +
           count * window_.ticks;
    out_ += count;
    return delays;
  }

  // The place behind the last packet, whether this packet leaves in the window or not.
  VirtualPacket* out() const { return out_; }
  // A bit for each bucket of the window in which a packet leaves.
  BFLY_PACKET_VECTORS uint32_t occupied() const {
    return static_cast<uint32_t>(_mm512_reduce_or_epi64(occupied_));
  }

 private:
  // Lanes of the vector at place `at` that hold one of `count` packets.
  BFLY_PACKET_VECTORS static __mmask8 Below(uint32_t count, uint32_t at) {
    return static_cast<__mmask8>(_bzhi_u32(0xFF, count < at ? 0 : count - at));
  }
  BFLY_PACKET_VECTORS void Occupy(__m512i departures, __mmask8 valid) {
    const __mmask8 leaves = _mm512_mask_cmplt_epu64_mask(valid, departures, window_.end);
    const __m512i bucket =
        _mm512_srl_epi64(_mm512_sub_epi64(departures, window_.start), window_.bits);
    const __m512i bits = _mm512_sllv_epi64(_mm512_set1_epi64(1), bucket);
    occupied_ = _mm512_mask_or_epi64(occupied_, leaves, occupied_, bits);
  }

  const VectorWindow& window_;
  VirtualPacket* out_;
  __m512i occupied_;
};

}  // namespace bfly::dataplane
#endif
