// SPDX-License-Identifier: Apache-2.0
// Statistics of durations without a record of each: HDR histograms, whose buckets have equal
// relative width. Debian 12 packages HDR libraries for Java and Go, not for C or C++.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// Nanoseconds. Percentiles are exact to one part in 256, and never too small; the other figures are
// exact.
struct LatencySummary {
  uint64_t count = 0;
  double mean = 0;
  double p50 = 0, p90 = 0, p99 = 0, p999 = 0;
  double max = 0;
};

// Durations that a histogram counts together.
struct LatencyBucket {
  double up_to = 0;  // nanoseconds, the longest of these durations
  uint64_t count = 0;
};

// A histogram of TSC cycles. One thread adds, any thread reads.
class LatencyHistogram {
 public:
  LatencyHistogram() : counts_(std::make_unique<std::atomic<uint64_t>[]>(kBuckets)) {}

  void Add(uint64_t cycles) {
    Bump(counts_[BucketOf(cycles)], 1);
    Bump(count_, 1);
    Bump(sum_, cycles);
    if (cycles > max_.load(std::memory_order_relaxed)) {
      max_.store(cycles, std::memory_order_relaxed);
    }
  }
  // Adds the time from `from` to `to`, both of which workers read or computed. A negative time
  // counts as 0.
  void AddBetween(uint64_t from, uint64_t to) { Add(to > from ? to - from : 0); }

 private:
  friend LatencySummary Summarize(const std::vector<const LatencyHistogram*>& histograms,
                                  double tsc_hz);
  friend std::vector<LatencyBucket> BucketsOf(
      const std::vector<const LatencyHistogram*>& histograms, double tsc_hz);

  static constexpr int kSubBits = 8;
  static constexpr int kMaxBits = 44;  // hours; longer times count in the last bucket
  static constexpr size_t kBuckets = static_cast<size_t>(kMaxBits - kSubBits + 1) << kSubBits;

  // Values below 2^kSubBits have buckets of their own. Above, each octave has 2^kSubBits buckets.
  static size_t BucketOf(uint64_t value) {
    if (value < (1u << kSubBits)) return value;
    if (value >> kMaxBits != 0) return kBuckets - 1;
    const int shift = std::bit_width(value) - 1 - kSubBits;
    return (static_cast<size_t>(shift + 1) << kSubBits) + (value >> shift) - (1u << kSubBits);
  }
  // The largest value of a bucket.
  static uint64_t UpperEnd(size_t bucket) {
    if (bucket < (1u << kSubBits)) return bucket;
    const size_t shift = (bucket >> kSubBits) - 1;
    const uint64_t top = (bucket & ((1u << kSubBits) - 1)) + (1u << kSubBits);
    return ((top + 1) << shift) - 1;
  }

  // The adding thread: writes, readers: relaxed loads.
  std::unique_ptr<std::atomic<uint64_t>[]> counts_;
  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> max_{0};
};

// Summarizes the histograms together; null pointers are skipped.
LatencySummary Summarize(const std::vector<const LatencyHistogram*>& histograms, double tsc_hz);
// The buckets of all histograms together that counted something, shortest first; null pointers are
// skipped. A duration is at most one part in 256 shorter than its bucket's `up_to`.
std::vector<LatencyBucket> BucketsOf(const std::vector<const LatencyHistogram*>& histograms,
                                     double tsc_hz);

}  // namespace bfly::dataplane
