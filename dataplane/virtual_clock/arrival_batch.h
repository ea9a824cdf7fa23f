// SPDX-License-Identifier: Apache-2.0
// The random numbers of arrivals, eight packets at a time in vector registers.
//
// Every value is specified to the last bit: Philox words, and -ln by a fixed series in IEEE double
// precision without fused operations, so that the same seed gives the same arrivals on every
// machine and compiler, with vectors of any length.
#pragma once

#include <cstdint>

namespace bfly::dataplane {

inline constexpr int kArrivalBatch = 8;

struct ArrivalBatch {
  uint64_t gap[kArrivalBatch];     // exponential, whole ticks, rounded to the nearest
  uint64_t choice[kArrivalBatch];  // 20 fair bits
};

// Packets 0..3 of the batch have words 0 and 1 of the blocks first_counter + 0..3 of
// RandomStream::kArrivals, packets 4..7 have words 2 and 3. Of these 64 bits the low 20 are
// `choice`; the other bits, the number k, give the gap -ln((k + 1/2) 2^-44) * mean_gap. mean_gap:
// ticks, above 0.
void DrawArrivals(uint64_t seed, uint64_t first_counter, double mean_gap, ArrivalBatch& batch);
// Draws the batches at first_counter and first_counter + kArrivalBatch. The numbers are those of
// DrawArrivals; it is faster if the CPU has the vectors for it.
void DrawTwoArrivals(uint64_t seed, uint64_t first_counter, double mean_gap,
                     ArrivalBatch batches[2]);
// Draws flips[i]: `bits` independent bits, each of which is 1 with probability threshold / 2^32.
// Bit b is set if word b % 4 of block first_counter + i of kArrivals, attempt 1 + b / 4, is below
// the threshold.
void DrawFlips(uint64_t seed, uint64_t first_counter, int bits, uint64_t threshold,
               uint64_t flips[kArrivalBatch]);

}  // namespace bfly::dataplane
