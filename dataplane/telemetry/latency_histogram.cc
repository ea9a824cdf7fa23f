// SPDX-License-Identifier: Apache-2.0
#include "dataplane/telemetry/latency_histogram.h"

#include <algorithm>
#include <cmath>

namespace bfly::dataplane {

LatencySummary Summarize(const std::vector<const LatencyHistogram*>& histograms, double tsc_hz) {
  std::vector<uint64_t> counts(LatencyHistogram::kBuckets);
  uint64_t sum = 0, max = 0, total = 0;
  for (const LatencyHistogram* histogram : histograms) {
    if (histogram == nullptr) continue;
    for (size_t b = 0; b < counts.size(); ++b) {
      const uint64_t count = histogram->counts_[b].load(std::memory_order_relaxed);
      counts[b] += count;
      total += count;
    }
    sum += histogram->sum_.load(std::memory_order_relaxed);
    max = std::max(max, histogram->max_.load(std::memory_order_relaxed));
  }
  LatencySummary summary{.count = total};
  if (total == 0) return summary;
  const double ns = 1e9 / tsc_hz;
  summary.mean = static_cast<double>(sum) / static_cast<double>(total) * ns;
  summary.max = static_cast<double>(max) * ns;
  const auto quantile = [&](double fraction) {
    const auto wanted = static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(total)));
    uint64_t seen = 0;
    size_t bucket = 0;
    for (; bucket + 1 < counts.size(); ++bucket) {
      seen += counts[bucket];
      if (seen >= wanted) break;
    }
    // The end of the largest value's bucket may be above that value, so the value bounds it.
    return static_cast<double>(std::min(LatencyHistogram::UpperEnd(bucket), max)) * ns;
  };
  summary.p50 = quantile(0.50);
  summary.p90 = quantile(0.90);
  summary.p99 = quantile(0.99);
  summary.p999 = quantile(0.999);
  return summary;
}

std::vector<LatencyBucket> BucketsOf(const std::vector<const LatencyHistogram*>& histograms,
                                     double tsc_hz) {
  std::vector<LatencyBucket> buckets;
  for (size_t b = 0; b < LatencyHistogram::kBuckets; ++b) {
    uint64_t count = 0, max = 0;
    for (const LatencyHistogram* histogram : histograms) {
      if (histogram == nullptr) continue;
      count += histogram->counts_[b].load(std::memory_order_relaxed);
      max = std::max(max, histogram->max_.load(std::memory_order_relaxed));
    }
    if (count == 0) continue;
    const uint64_t up_to = std::min(LatencyHistogram::UpperEnd(b), max);
    buckets.push_back({.up_to = static_cast<double>(up_to) * 1e9 / tsc_hz, .count = count});
  }
  return buckets;
}

}  // namespace bfly::dataplane
