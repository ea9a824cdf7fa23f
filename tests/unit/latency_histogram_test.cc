// SPDX-License-Identifier: Apache-2.0
#include "dataplane/telemetry/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

constexpr double kHz = 1e9;  // a cycle is a nanosecond

// Against sorting them all: a percentile is the value itself or at most one part in 256 above it.
TEST(LatencyHistogram, PercentilesAreThoseOfTheSortedValues) {
  LatencyHistogram histogram;
  std::vector<uint64_t> values;
  double sum = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    // Eight orders of magnitude.
    const double u = static_cast<double>(Random64(1, RandomStream::kTest, i) >> 11) * 0x1p-53;
    values.push_back(static_cast<uint64_t>(std::pow(10, 8 * u)));
    histogram.Add(values.back());
    sum += static_cast<double>(values.back());
  }
  std::sort(values.begin(), values.end());
  const LatencySummary s = Summarize({&histogram}, kHz);
  EXPECT_EQ(s.count, values.size());
  EXPECT_DOUBLE_EQ(s.max, static_cast<double>(values.back()));
  EXPECT_NEAR(s.mean, sum / 1e4, 1e-6 * s.mean);
  const auto expect = [&](double got, double fraction) {
    const auto exact = static_cast<double>(values[static_cast<size_t>(fraction * 1e4) - 1]);
    EXPECT_GE(got, exact) << fraction;
    EXPECT_LE(got, exact * (1 + 1.0 / 256)) << fraction;
  };
  expect(s.p50, 0.5);
  expect(s.p90, 0.9);
  expect(s.p99, 0.99);
  expect(s.p999, 0.999);
}

// Every value is in the first bucket whose end is not below it, and at most one part in 256 below
// this end.
TEST(LatencyHistogram, BucketsCountTheSortedValuesUpToTheirEnds) {
  LatencyHistogram one, two;
  std::vector<double> nanoseconds;
  for (uint64_t i = 0; i < 5'000; ++i) {
    const double u = static_cast<double>(Random64(2, RandomStream::kTest, i) >> 11) * 0x1p-53;
    const auto cycles = static_cast<uint64_t>(std::pow(10, 8 * u));
    nanoseconds.push_back(static_cast<double>(cycles) / 2);  // 2 GHz
    (i % 3 == 0 ? one : two).Add(cycles);
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const std::vector<LatencyBucket> buckets = BucketsOf({&one, nullptr, &two}, 2 * kHz);
  ASSERT_GT(buckets.size(), 100u);
  auto next = nanoseconds.begin();
  for (const LatencyBucket& bucket : buckets) {
    ASSERT_GT(bucket.count, 0u);
    ASSERT_LE(static_cast<long>(bucket.count), nanoseconds.end() - next);
    const auto end = next + static_cast<long>(bucket.count);
    EXPECT_GE(*next * (1 + 1.0 / 256) + 0.5, bucket.up_to);
    EXPECT_LE(*(end - 1), bucket.up_to);
    EXPECT_TRUE(end == nanoseconds.end() || *end > bucket.up_to);
    next = end;
  }
  EXPECT_EQ(next, nanoseconds.end());
  EXPECT_DOUBLE_EQ(buckets.back().up_to, nanoseconds.back());
  EXPECT_TRUE(BucketsOf({}, kHz).empty());
}

TEST(LatencyHistogram, SmallValuesAreExactAndHugeOnesStayInTheLastBucket) {
  LatencyHistogram histogram;
  for (uint64_t v : {0, 1, 2, 255}) histogram.Add(v);
  LatencySummary s = Summarize({&histogram}, kHz);
  EXPECT_DOUBLE_EQ(s.p50, 1);
  EXPECT_DOUBLE_EQ(s.p90, 255);
  EXPECT_DOUBLE_EQ(s.mean, 64.5);
  histogram.Add(UINT64_MAX);
  EXPECT_EQ(Summarize({&histogram}, kHz).count, 5u);
}

TEST(LatencyHistogram, SeveralAddUpAndNoneGivesZeros) {
  LatencyHistogram one, two;
  for (int i = 0; i < 99; ++i) one.Add(100);
  two.AddBetween(1000, 6000);
  two.AddBetween(6000, 1000);  // backwards: 0
  const LatencySummary s = Summarize({&one, nullptr, &two}, 2 * kHz);
  EXPECT_EQ(s.count, 101u);
  EXPECT_DOUBLE_EQ(s.max, 2500);  // half a nanosecond a cycle
  EXPECT_DOUBLE_EQ(s.p50, 50);
  EXPECT_DOUBLE_EQ(s.mean, (9900 + 5000) / 101.0 / 2);
  EXPECT_EQ(Summarize({}, kHz).count, 0u);
  EXPECT_EQ(Summarize({}, kHz).p999, 0);
}

}  // namespace
}  // namespace bfly::dataplane
