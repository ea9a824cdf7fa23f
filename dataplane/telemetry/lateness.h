// SPDX-License-Identifier: Apache-2.0
// The lateness of a worker: the time at which it released a packet minus the time at which the
// packet was due. Workers that share cores are late.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "dataplane/telemetry/one_writer.h"

namespace bfly::dataplane {

// Times have the unit of the values that were added. They are statistics over all packets.
struct Lateness {
  uint64_t packets = 0;
  double mean = 0;
  uint64_t p99 = 0;  // at most 1/16 above the true value
  uint64_t max = 0;
};

// One writer, any number of readers. A reader may see the last packets in one figure and not yet in
// another.
class LatenessMeter {
 public:
  void Add(uint64_t late) {
    Bump(counts_[BucketOf(late)], 1);
    Bump(sum_, late);
    if (late > max_.load(std::memory_order_relaxed)) max_.store(late, std::memory_order_relaxed);
  }

  // Adds now - time_of(0) .. now - time_of(count - 1), or 0 instead of a negative value. The times
  // rise.
  template <typename TimeOf>
  void AddSince(uint64_t now, int count, const TimeOf& time_of) {
    if (count == 0) return;
    const uint64_t first = time_of(0), last = time_of(count - 1);
    if (last > now || BucketOf(now - first) != BucketOf(now - last)) {
      return AddAll(count, [&](int i) { return now > time_of(i) ? now - time_of(i) : 0; });
    }
    uint64_t sum = 0;
    for (int i = 0; i < count; ++i) sum += now - time_of(i);
    Bump(counts_[BucketOf(now - first)], static_cast<uint64_t>(count));
    Bump(sum_, sum);
    if (now - first > max_.load(std::memory_order_relaxed)) {
      max_.store(now - first, std::memory_order_relaxed);
    }
  }

  // Adds late_of(0) .. late_of(count - 1). Packets that are released together are late by nearly
  // the same time, so most of them share a bucket.
  template <typename LateOf>
  void AddAll(int count, const LateOf& late_of) {
    uint64_t sum = 0, most = 0, in_bucket = 0;
    uint64_t least_in_bucket = 0, values_in_bucket = 1;
    int bucket = 0;
    for (int i = 0; i < count; ++i) {
      const uint64_t late = late_of(i);
      sum += late;
      most = late > most ? late : most;
      if (late - least_in_bucket >= values_in_bucket) {
        Bump(counts_[bucket], in_bucket);
        bucket = BucketOf(late);
        in_bucket = 0;
        values_in_bucket = ValuesIn(bucket);
        least_in_bucket = LargestIn(bucket) + 1 - values_in_bucket;
      }
      ++in_bucket;
    }
    Bump(counts_[bucket], in_bucket);
    Bump(sum_, sum);
    if (most > max_.load(std::memory_order_relaxed)) max_.store(most, std::memory_order_relaxed);
  }

  Lateness Read() const {
    std::array<uint64_t, kBuckets> counts;
    Lateness all;
    for (int i = 0; i < kBuckets; ++i) {
      counts[i] = counts_[i].load(std::memory_order_relaxed);
      all.packets += counts[i];
    }
    if (all.packets == 0) return all;
    all.max = max_.load(std::memory_order_relaxed);
    all.mean = static_cast<double>(sum_.load(std::memory_order_relaxed)) /
               static_cast<double>(all.packets);
    uint64_t above = all.packets / 100;
    int bucket = kBuckets - 1;
    while (counts[bucket] <= above) above -= counts[bucket--];
    all.p99 = LargestIn(bucket) < all.max ? LargestIn(bucket) : all.max;
    return all;
  }

 private:
  // Each value below 16 has a bucket; above, each power of two has 16 buckets.
  static constexpr int kBuckets = 16 + 60 * 16;
  static int BucketOf(uint64_t value) {
    if (value < 16) return static_cast<int>(value);
    const int power = std::bit_width(value) - 5;
    return power * 16 + static_cast<int>(value >> power);
  }
  static uint64_t LargestIn(int bucket) {
    if (bucket < 16) return static_cast<uint64_t>(bucket);
    const int power = bucket / 16 - 1;
    return ((static_cast<uint64_t>(bucket % 16) + 17) << power) - 1;
  }
  static uint64_t ValuesIn(int bucket) {
    return bucket < 16 ? 1 : uint64_t{1} << (bucket / 16 - 1);
  }

  std::array<std::atomic<uint64_t>, kBuckets> counts_{};  // writer: writes, readers: relaxed loads
  std::atomic<uint64_t> sum_{0};
  std::atomic<uint64_t> max_{0};
};

}  // namespace bfly::dataplane
