// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/arrival_batch.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>

#include "dataplane/virtual_clock/narrow_vectors.h"
#include "dataplane/virtual_clock/packet_vectors.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

// Vectors of 16 bytes, which every 64-bit machine has.
constexpr int kWidth = 2;
using Words [[gnu::vector_size(16)]] = uint64_t;
using Reals [[gnu::vector_size(16)]] = double;

// Products of the low halves of the words.
inline Words Times(Words a, Words b) {
#if defined(__SSE2__)
  return reinterpret_cast<Words>(
      _mm_mul_epu32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return (a & 0xFFFFFFFFu) * (b & 0xFFFFFFFFu);
#endif
}

// Philox4x32-10 (topologies/random.h) of consecutive counters, two blocks a vector. The four words
// of a block are the low halves of word[0..3]; the high halves have arbitrary values, since the
// products ignore them.
template <int kVectors>
struct Blocks {
  Words word[4][kVectors];

  Blocks(uint64_t seed, uint64_t first_counter, uint32_t attempt) {
    for (int v = 0; v < kVectors; ++v) {
      for (int i = 0; i < kWidth; ++i) {
        const uint64_t counter = first_counter + static_cast<uint64_t>(v * kWidth + i);
        word[0][v][i] = counter;
        word[1][v][i] = counter >> 32;
      }
      word[2][v] = Words{} + static_cast<uint32_t>(RandomStream::kArrivals);
      word[3][v] = Words{} + attempt;
    }
    const Words multiplier0 = Words{} + 0xD2511F53u, multiplier1 = Words{} + 0xCD9E8D57u;
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      for (int v = 0; v < kVectors; ++v) {
        const Words product0 = Times(word[0][v], multiplier0);
        const Words product1 = Times(word[2][v], multiplier1);
        word[0][v] = product1 >> 32 ^ word[1][v] ^ key0;
        word[1][v] = product1;
        word[2][v] = product0 >> 32 ^ word[3][v] ^ key1;
        word[3][v] = product0;
      }
      key0 += 0x9E3779B9;
      key1 += 0xBB67AE85;
    }
  }
};

// -ln((k + 1/2) 2^-44), k the 44 high bits: with u = m 2^e, sqrt(1/2) <= m < sqrt(2), and
// s = (m-1)/(m+1), it is -(e ln 2 + 2 (s + s^3/3 + ... + s^21/21)); |s| < 0.1716 leaves less than
// 2^-55 for the rest of the series. An integer below 2^52 in the low bits of 2^52 is its sum with
// 2^52. A function of its own for vectors of each length: only a function that is compiled for a
// CPU's vectors uses them.
#define BFLY_NEGATIVE_LOG(Name, WordVector, RealVector)                                          \
  inline RealVector Name(WordVector bits) {                                                      \
    constexpr uint64_t kOne = 0x3FF0000000000000, kRootHalf = 0x3FE6A09E667F3BCD;                \
    const RealVector u = reinterpret_cast<RealVector>(bits >> 20 << 8 | kOne) - (1 - 0x1p-45);   \
    const WordVector shifted = reinterpret_cast<WordVector>(u) + (kOne - kRootHalf);             \
    const RealVector m = reinterpret_cast<RealVector>((shifted & 0xFFFFFFFFFFFFFu) + kRootHalf); \
    const RealVector exponent =                                                                  \
        reinterpret_cast<RealVector>(shifted >> 52 | 0x4330000000000000u) - (0x1p52 + 1023);     \
    const RealVector s = (m - 1) / (m + 1), z = s * s, z2 = z * z, z4 = z2 * z2;                 \
    const RealVector a = z * (2.0 / 5) + 2.0 / 3, b = z * (2.0 / 9) + 2.0 / 7;                   \
    const RealVector c = z * (2.0 / 13) + 2.0 / 11, d = z * (2.0 / 17) + 2.0 / 15;               \
    const RealVector e = z * (2.0 / 21) + 2.0 / 19;                                              \
    const RealVector rest = (a + z2 * b) + z4 * ((c + z2 * d) + z4 * e);                         \
    return -(exponent * 0x1.62e42fefa39efp-1 + (s * 2.0 + s * (z * rest)));                      \
  }

BFLY_NEGATIVE_LOG(NegativeLog, Words, Reals)

inline Words WholeTicks(Reals gap, double mean_gap) {
  // Adding 2^52 rounds to a whole number and leaves it in the low bits; no gap is above 31.2 means.
  if (mean_gap < 0x1p47) return reinterpret_cast<Words>(gap + 0x1p52) & 0xFFFFFFFFFFFFFu;
  Words ticks;
  for (int i = 0; i < kWidth; ++i) ticks[i] = ToTicksBeforeFar(std::nearbyint(gap[i]));
  return ticks;
}

#if BFLY_HAS_PACKET_VECTORS
// The functions below are DrawArrivals, step by step, with eight blocks and eight logarithms in a
// vector. The blocks are those of two batches, so that two chains of operations overlap.

using WideWords [[gnu::vector_size(64)]] = uint64_t;
using WideReals [[gnu::vector_size(64)]] = double;

BFLY_PACKET_VECTORS BFLY_NEGATIVE_LOG(WideNegativeLog, WideWords, WideReals)

    // Gaps of mean_gap < 2^47 ticks from the 64 bits of each packet.
    BFLY_PACKET_VECTORS inline __m512i WideGaps(__m512i random, double mean_gap) {
  const WideReals log = WideNegativeLog(reinterpret_cast<WideWords>(random));
  return reinterpret_cast<__m512i>(reinterpret_cast<WideWords>(log * mean_gap + 0x1p52) &
                                   0xFFFFFFFFFFFFFu);
}

BFLY_PACKET_VECTORS void DrawTwoInVectors(uint64_t seed, uint64_t first_counter, double mean_gap,
                                          ArrivalBatch batches[2]) {
  const __m512i numbers = _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11);
  __m512i word0 = _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(first_counter)), numbers);
  __m512i word1 = _mm512_srli_epi64(word0, 32);
  __m512i word2 = _mm512_set1_epi64(static_cast<uint32_t>(RandomStream::kArrivals));
  __m512i word3 = _mm512_setzero_si512();
  __m512i key0 = _mm512_set1_epi64(static_cast<int64_t>(seed));
  __m512i key1 = _mm512_srli_epi64(key0, 32);
  const __m512i multiplier0 = _mm512_set1_epi64(0xD2511F53);
  const __m512i multiplier1 = _mm512_set1_epi64(0xCD9E8D57);
  for (int round = 0; round < 10; ++round) {
    const __m512i product0 = _mm512_mul_epu32(word0, multiplier0);
    const __m512i product1 = _mm512_mul_epu32(word2, multiplier1);
    word0 = _mm512_xor_si512(_mm512_xor_si512(word1, key0), _mm512_srli_epi64(product1, 32));
    word1 = product1;
    word2 = _mm512_xor_si512(_mm512_xor_si512(word3, key1), _mm512_srli_epi64(product0, 32));
    word3 = product0;
    key0 = _mm512_add_epi64(key0, _mm512_set1_epi64(0x9E3779B9));
    key1 = _mm512_add_epi64(key1, _mm512_set1_epi64(0xBB67AE85));
  }
  // The 64 bits of packets 0..3 and of packets 4..7 of each batch.
  const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
  const __m512i early = _mm512_or_si512(_mm512_and_si512(word0, low), _mm512_slli_epi64(word1, 32));
  const __m512i late = _mm512_or_si512(_mm512_and_si512(word2, low), _mm512_slli_epi64(word3, 32));
  const __m512i bits[2] = {
      _mm512_permutex2var_epi64(early, _mm512_setr_epi64(0, 1, 2, 3, 8, 9, 10, 11), late),
      _mm512_permutex2var_epi64(early, _mm512_setr_epi64(4, 5, 6, 7, 12, 13, 14, 15), late)};
  for (size_t i = 0; i < 2; ++i) {
    _mm512_storeu_si512(batches[i].gap, WideGaps(bits[i], mean_gap));
    _mm512_storeu_si512(batches[i].choice, _mm512_and_si512(bits[i], _mm512_set1_epi64(0xFFFFF)));
  }
}
#endif

#if BFLY_HAS_NARROW_VECTORS
// The same functions with four blocks in a vector, one vector for each batch.

using NarrowWords [[gnu::vector_size(32)]] = uint64_t;
using NarrowReals [[gnu::vector_size(32)]] = double;

BFLY_NARROW_VECTORS BFLY_NEGATIVE_LOG(NarrowNegativeLog, NarrowWords, NarrowReals)

    // The gaps and choices of four packets from the 64 bits of each.
    BFLY_NARROW_VECTORS inline void StoreArrivals(NarrowWords bits, double mean_gap, uint64_t* gaps,
                                                  uint64_t* choices) {
  const NarrowReals gap = NarrowNegativeLog(bits) * mean_gap + 0x1p52;
  const NarrowWords whole = reinterpret_cast<NarrowWords>(gap) & 0xFFFFFFFFFFFFFu;
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(gaps), reinterpret_cast<__m256i>(whole));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(choices),
                      reinterpret_cast<__m256i>(bits & 0xFFFFFu));
}

BFLY_NARROW_VECTORS void DrawTwoInNarrowVectors(uint64_t seed, uint64_t first_counter,
                                                double mean_gap, ArrivalBatch batches[2]) {
  __m256i word[4][2];
  for (size_t i = 0; i < 2; ++i) {
    word[0][i] = _mm256_add_epi64(
        _mm256_set1_epi64x(static_cast<int64_t>(first_counter + kArrivalBatch * i)),
        _mm256_setr_epi64x(0, 1, 2, 3));
    word[1][i] = _mm256_srli_epi64(word[0][i], 32);
    word[2][i] = _mm256_set1_epi64x(static_cast<uint32_t>(RandomStream::kArrivals));
    word[3][i] = _mm256_setzero_si256();
  }
  __m256i key0 = _mm256_set1_epi64x(static_cast<int64_t>(seed));
  __m256i key1 = _mm256_srli_epi64(key0, 32);
  const __m256i multiplier0 = _mm256_set1_epi64x(0xD2511F53);
  const __m256i multiplier1 = _mm256_set1_epi64x(0xCD9E8D57);
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < 2; ++i) {
      const __m256i product0 = _mm256_mul_epu32(word[0][i], multiplier0);
      const __m256i product1 = _mm256_mul_epu32(word[2][i], multiplier1);
      word[0][i] =
          _mm256_xor_si256(_mm256_xor_si256(word[1][i], key0), _mm256_srli_epi64(product1, 32));
      word[1][i] = product1;
      word[2][i] =
          _mm256_xor_si256(_mm256_xor_si256(word[3][i], key1), _mm256_srli_epi64(product0, 32));
      word[3][i] = product0;
    }
    key0 = _mm256_add_epi64(key0, _mm256_set1_epi64x(0x9E3779B9));
    key1 = _mm256_add_epi64(key1, _mm256_set1_epi64x(0xBB67AE85));
  }
  for (size_t i = 0; i < 2; ++i) {
    for (size_t half = 0; half < 2; ++half) {
      const __m256i bits =
          _mm256_blend_epi32(word[2 * half][i], _mm256_slli_epi64(word[2 * half + 1][i], 32), 0xAA);
      StoreArrivals(reinterpret_cast<NarrowWords>(bits), mean_gap, batches[i].gap + 4 * half,
                    batches[i].choice + 4 * half);
    }
  }
}
#endif

}  // namespace

void DrawTwoArrivals(uint64_t seed, uint64_t first_counter, double mean_gap,
                     ArrivalBatch batches[2]) {
#if BFLY_HAS_PACKET_VECTORS
  // Longer gaps are rounded one by one.
  if (mean_gap < 0x1p47 && HasPacketVectors()) {
    DrawTwoInVectors(seed, first_counter, mean_gap, batches);
    return;
  }
#endif
#if BFLY_HAS_NARROW_VECTORS
  if (mean_gap < 0x1p47 && HasNarrowVectors()) {
    DrawTwoInNarrowVectors(seed, first_counter, mean_gap, batches);
    return;
  }
#endif
  DrawArrivals(seed, first_counter, mean_gap, batches[0]);
  DrawArrivals(seed, first_counter + kArrivalBatch, mean_gap, batches[1]);
}

void DrawArrivals(uint64_t seed, uint64_t first_counter, double mean_gap, ArrivalBatch& batch) {
  constexpr int kVectors = kArrivalBatch / 2 / kWidth;
  const Blocks<kVectors> blocks(seed, first_counter, 0);
  for (int v = 0; v < 2 * kVectors; ++v) {
    const int low = v < kVectors ? 0 : 2, at = v % kVectors;
    const Words bits = (blocks.word[low][at] & 0xFFFFFFFFu) | blocks.word[low + 1][at] << 32;
    const Words gap = WholeTicks(NegativeLog(bits) * mean_gap, mean_gap);
    const Words choice = bits & 0xFFFFFu;
    std::memcpy(batch.gap + v * kWidth, &gap, sizeof(gap));
    std::memcpy(batch.choice + v * kWidth, &choice, sizeof(choice));
  }
}

void DrawFlips(uint64_t seed, uint64_t first_counter, int bits, uint64_t threshold,
               uint64_t flips[kArrivalBatch]) {
  constexpr int kVectors = kArrivalBatch / kWidth;
  Words drawn[kVectors] = {};
  for (int first = 0; first < bits; first += 4) {
    const Blocks<kVectors> blocks(seed, first_counter, static_cast<uint32_t>(1 + first / 4));
    for (int bit = first; bit < std::min(first + 4, bits); ++bit) {
      for (int v = 0; v < kVectors; ++v) {
        // Below the threshold: the difference of two numbers of 33 bits is negative.
        drawn[v] |= ((blocks.word[bit % 4][v] & 0xFFFFFFFFu) - threshold) >> 63 << bit;
      }
    }
  }
  std::memcpy(flips, drawn, sizeof(drawn));
}

}  // namespace bfly::dataplane
