// SPDX-License-Identifier: Apache-2.0
// How a packet is kept in vectors of 32 bytes, for CPUs with AVX2 (narrow_vectors.h).
//
// Such a vector holds eight packets if a packet takes 32 bits, so inside a group of stages a packet
// is an offset and a handle of 32 bits each:
// - the offset is the place of its time in its bucket. Times are scaled so that a bucket is 2^32:
//   a time since the window's start is bucket << 32 | offset.
// - the handle says where its word stands in the WordTable of the block. Above that it has the
//   routing bits of the group's stages, the next one on top, and below it the bucket while the
//   packet is between a list and its link.
//
// Functions that call these have the same BFLY_NARROW_VECTORS before them.
#pragma once

#include "dataplane/virtual_clock/packet_vectors.h"

#if defined(__x86_64__)
#define BFLY_HAS_NARROW_VECTORS 1
#define BFLY_NARROW_VECTORS [[gnu::target("avx2,bmi,bmi2,popcnt")]]

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/virtual_clock/packet.h"

namespace bfly::dataplane {

// Whether this CPU has the instructions that BFLY_NARROW_VECTORS asks for.
inline bool HasNarrowVectors() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has;
}

// The stages of a group are so few that 2^19 words have handles: 128 waiting packets at each of the
// 128 links of a stage, and the packets that come in a window of kMostNarrowPackets for each row.
inline constexpr int kMostNarrowStages = 8;
inline constexpr double kMostNarrowPackets = 1024;
inline constexpr int kBucketBits = 5;  // bits of a handle that hold the bucket
inline constexpr uint32_t kBucketOfHandle = (1u << kBucketBits) - 1;
inline constexpr uint32_t kTagsOfHandle = ~uint32_t{0} << (32 - kMostNarrowStages);
// Loops read and write whole vectors, so lists have this many places behind them.
inline constexpr size_t kNarrowSpare = 16;

// The words of the packets in a block of rows, in one window, as they are before the group's first
// stage.
class WordTable {
 public:
  // `stages`: how many stages the group has.
  void Begin(int stages) {
    used_ = 0;
    stages_ = stages;
  }
  // Makes room for `more` further words. Words that Append wrote may move.
  void Reserve(size_t more) {
    const size_t needed = used_ + more + kNarrowSpare;
    if (words_.size() < needed) words_.resize(needed + needed / 16);
  }

  // Appends words for which there is room, and writes their handles. Reads and writes whole
  // vectors. `crossed`: how many stages of the group the packets have crossed.
  BFLY_NARROW_VECTORS void Append(const PacketWord* words, size_t count, int crossed,
                                  uint32_t* handles) {
    PacketWord* const to = words_.data() + used_;
    const __m256i tags = _mm256_set1_epi32(static_cast<int>(kTagsOfHandle));
    const __m128i turn = _mm_cvtsi32_si128(crossed);
    __m256i index = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(used_)),
                                     _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    index = _mm256_slli_epi32(index, kBucketBits);
    for (size_t at = 0; at < count; at += kVector) {
      const __m256i low = Load(words + at), high = Load(words + at + 4);
      Store(to + at, low);
      Store(to + at + 4, high);
      const __m256i tops = _mm256_permute4x64_epi64(HighHalves(low, high), 0xD8);
      const __m256i tag = _mm256_sll_epi32(_mm256_and_si256(tops, tags), turn);
      Store(handles + at, _mm256_or_si256(index, tag));
      index = _mm256_add_epi32(index, _mm256_set1_epi32(kVector << kBucketBits));
    }
    used_ += count;
  }

  // Appends packets of a source, whose times are `start` or later. Writes their offsets, and
  // handles with buckets. `scale`: by how many bits times are shifted.
  BFLY_NARROW_VECTORS void AppendPackets(const VirtualPacket* packets, size_t count, Ticks start,
                                         int scale, uint32_t* offsets, uint32_t* handles) {
    PacketWord* const to = words_.data() + used_;
    const __m256i tags = _mm256_set1_epi32(static_cast<int>(kTagsOfHandle));
    const __m256i starts = _mm256_set1_epi64x(static_cast<int64_t>(start));
    const __m128i shift = _mm_cvtsi32_si128(scale);
    for (size_t at = 0; at < count; at += kVector) {
      __m256i times[2], words[2];
      for (size_t half = 0; half < 2; ++half) {
        const __m256i a = Load(packets + at + 4 * half), b = Load(packets + at + 4 * half + 2);
        times[half] =
            _mm256_sll_epi64(_mm256_sub_epi64(_mm256_unpacklo_epi64(a, b), starts), shift);
        words[half] = _mm256_unpackhi_epi64(a, b);
        Store(to + at + 4 * half, _mm256_permute4x64_epi64(words[half], 0xD8));
      }
      // Lanes hold packets 0, 2, 1, 3, 4, 6, 5, 7 until here.
      const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
      const __m256i index =
          _mm256_slli_epi32(_mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(used_ + at)),
                                             _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)),
                            kBucketBits);
      const __m256i tag = _mm256_and_si256(HighHalves(words[0], words[1]), tags);
      // Lanes behind the last packet get handles too, and no handle may name a word that has no
      // place.
      const __m256i buckets = _mm256_and_si256(
          HighHalves(times[0], times[1]), _mm256_set1_epi32(static_cast<int>(kBucketOfHandle)));
      const __m256i of_packets = _mm256_permutevar8x32_epi32(_mm256_or_si256(tag, buckets), order);
      Store(offsets + at, _mm256_permutevar8x32_epi32(LowHalves(times[0], times[1]), order));
      Store(handles + at, _mm256_or_si256(of_packets, index));
    }
    used_ += count;
  }

  PacketWord WordOf(uint32_t handle) const {
    return words_[(handle & ~kTagsOfHandle) >> kBucketBits];
  }
  // The packet's word as it is behind the group's last stage.
  PacketWord WordBehind(uint32_t handle) const { return std::rotl(WordOf(handle), stages_); }
  size_t bytes() const { return words_.capacity() * sizeof(PacketWord); }

  BFLY_NARROW_VECTORS static __m256i Load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
  }
  BFLY_NARROW_VECTORS static void Store(void* to, __m256i vector) {
    _mm256_storeu_si256(static_cast<__m256i*>(to), vector);
  }
  // The halves of eight words of 64 bits. The halves of words 0, 1, 4 and 5 stand in the lower half
  // of the vector if `a` has words 0 to 3.
  BFLY_NARROW_VECTORS static __m256i LowHalves(__m256i a, __m256i b) { return Halves<0x88>(a, b); }
  BFLY_NARROW_VECTORS static __m256i HighHalves(__m256i a, __m256i b) { return Halves<0xDD>(a, b); }

 private:
  template <int kWhich>
  BFLY_NARROW_VECTORS static __m256i Halves(__m256i a, __m256i b) {
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), kWhich));
  }

  std::vector<PacketWord> words_;
  size_t used_ = 0;
  int stages_ = 0;
};

}  // namespace bfly::dataplane
#endif
