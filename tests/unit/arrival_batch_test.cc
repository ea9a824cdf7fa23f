// SPDX-License-Identifier: Apache-2.0
// The vectorised arrivals against the plain generator, the C library's logarithm and the
// exponential distribution.
#include "dataplane/virtual_clock/arrival_batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

TEST(ArrivalBatch, IsWhatPhiloxAndTheLogarithmGive) {
  constexpr double kMeanGap = 0x1p32 / 1.8;
  for (const uint64_t first : {uint64_t{0}, uint64_t{0xFFFFFFFE}, uint64_t{77} << 40 | 4096}) {
    for (const uint64_t seed : {uint64_t{1}, uint64_t{0xFEDCBA9876543210}}) {
      ArrivalBatch batch;
      DrawArrivals(seed, first, kMeanGap, batch);
      for (uint64_t i = 0; i < kArrivalBatch; ++i) {
        const PhiloxBlock block = RandomBlock(seed, RandomStream::kArrivals, first + i % 4);
        const size_t word = i < 4 ? 0 : 2;
        const uint64_t bits = block[word] | uint64_t{block[word + 1]} << 32;
        const long double u = (static_cast<long double>(bits >> 20) + 0.5L) * 0x1p-44L;
        EXPECT_NEAR(static_cast<double>(batch.gap[i]),
                    static_cast<double>(-std::log(u) * static_cast<long double>(kMeanGap)), 0.51);
        EXPECT_EQ(batch.choice[i], bits & 0xFFFFF);
      }
    }
  }
}

TEST(ArrivalBatch, TwoAreTheSameAsOneAfterTheOther) {
  for (const double mean_gap : {0x1p32 / 1.8, 1e4, 0x1p46, 0x1p50}) {
    for (uint64_t counter = 0; counter < 40000; counter += 8) {
      ArrivalBatch two[2], one;
      DrawTwoArrivals(7, counter << 20, mean_gap, two);
      for (uint64_t batch = 0; batch < 2; ++batch) {
        DrawArrivals(7, (counter << 20) + batch * kArrivalBatch, mean_gap, one);
        for (int i = 0; i < kArrivalBatch; ++i) {
          ASSERT_EQ(two[batch].gap[i], one.gap[i]) << counter;
          ASSERT_EQ(two[batch].choice[i], one.choice[i]) << counter;
        }
      }
    }
  }
}

TEST(ArrivalBatch, GapsAreExponential) {
  // The largest distance of the empirical distribution from 1 - exp(-x) times sqrt(n) exceeds 1.95
  // once in a thousand samples (Kolmogorov).
  constexpr double kMean = 1e6;
  std::vector<double> gaps;
  for (uint64_t counter = 0; gaps.size() < 400000; counter += 4) {
    ArrivalBatch batch;
    DrawArrivals(3, counter, kMean, batch);
    for (const uint64_t gap : batch.gap) gaps.push_back(static_cast<double>(gap) / kMean);
  }
  std::sort(gaps.begin(), gaps.end());
  const double n = static_cast<double>(gaps.size());
  double distance = 0;
  for (size_t i = 0; i < gaps.size(); ++i) {
    const double exact = -std::expm1(-gaps[i]);
    distance = std::max({distance, std::abs(exact - static_cast<double>(i) / n),
                         std::abs(exact - static_cast<double>(i + 1) / n)});
  }
  EXPECT_LT(distance * std::sqrt(n), 1.95);
}

TEST(ArrivalBatch, RareArrivalsKeepTheirGaps) {
  // Gaps beyond 2^52 ticks take the plain way, which the same numbers scaled up show.
  ArrivalBatch near, far;
  DrawArrivals(9, 0, 0x1p40, near);
  DrawArrivals(9, 0, 0x1p50, far);
  for (int i = 0; i < kArrivalBatch; ++i) {
    EXPECT_NEAR(static_cast<double>(far.gap[i]) / static_cast<double>(near.gap[i]), 1024, 1e-6);
  }
  DrawArrivals(9, 0, 1e30, far);
  for (const uint64_t gap : far.gap) EXPECT_EQ(gap, uint64_t{1} << 62);
}

TEST(ArrivalBatch, GapsOfAnyLengthAreRoundedToTheNearestTick) {
  // Below 2^48 ticks the logarithm is exact to a tenth of a tick.
  for (const double mean_gap : {0x1p46, 0x1p47, 1.1 * 0x1p48}) {
    for (uint64_t first = 0; first < 800; first += kArrivalBatch) {
      ArrivalBatch batch;
      DrawArrivals(4, first, mean_gap, batch);
      for (uint64_t i = 0; i < kArrivalBatch; ++i) {
        const PhiloxBlock block = RandomBlock(4, RandomStream::kArrivals, first + i % 4);
        const size_t word = i < 4 ? 0 : 2;
        const uint64_t k = (block[word] | uint64_t{block[word + 1]} << 32) >> 20;
        const long double u = (static_cast<long double>(k) + 0.5L) * 0x1p-44L;
        const long double exact = -std::log(u) * static_cast<long double>(mean_gap);
        if (exact > 0x1p48L) continue;
        EXPECT_NEAR(static_cast<double>(static_cast<long double>(batch.gap[i]) - exact), 0, 0.6);
      }
    }
  }
}

TEST(ArrivalBatch, FlipsAreTheWordsBelowTheThreshold) {
  constexpr uint64_t kThreshold = 0x40000000, kFirst = uint64_t{5} << 40;
  for (const int bits : {1, 4, 7, 20}) {
    uint64_t flips[kArrivalBatch];
    DrawFlips(2, kFirst, bits, kThreshold, flips);
    for (uint64_t i = 0; i < kArrivalBatch; ++i) {
      uint64_t expected = 0;
      for (int bit = 0; bit < bits; ++bit) {
        const PhiloxBlock block =
            RandomBlock(2, RandomStream::kArrivals, kFirst + i, static_cast<uint32_t>(1 + bit / 4));
        expected |= uint64_t{block[static_cast<size_t>(bit % 4)] < kThreshold} << bit;
      }
      EXPECT_EQ(flips[i], expected);
    }
  }
}

TEST(ArrivalBatch, CertainFlipsHappenAndImpossibleOnesDoNot) {
  uint64_t flips[kArrivalBatch];
  DrawFlips(1, 0, 10, uint64_t{1} << 32, flips);
  for (const uint64_t f : flips) EXPECT_EQ(f, 1023u);
  DrawFlips(1, 0, 10, 0, flips);
  for (const uint64_t f : flips) EXPECT_EQ(f, 0u);
}

}  // namespace
}  // namespace bfly::dataplane
