// SPDX-License-Identifier: Apache-2.0
// Percentiles of delays. Delays are not kept, but counted in buckets of equal relative width (as in
// HDR histograms).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bfly::dataplane {

// Values 0..2^63 in ticks; a value is known to one part in 2^kSubBits.
class DelayHistogram {
 public:
  void Add(uint64_t value) { AddTo(BucketOf(value)); }
  void AddTo(size_t bucket) {
    if (bucket - first_ >= counts_.size()) [[unlikely]] {
      Cover(bucket);
    }
    ++counts_[bucket - first_];
  }
  void Merge(const DelayHistogram& other);

  size_t bytes() const { return counts_.size() * sizeof(counts_[0]); }

  // The smallest value of the first bucket that, with the buckets before it, has at least
  // `fraction` of the values; 0 if there are no values. It is never above the quantile, less than
  // one part in 2^kSubBits below it, and equal to it if the quantile has at most kSubBits + 1
  // significant bits.
  uint64_t Quantile(double fraction) const;

  static constexpr int kSubBits = 7;
  static size_t BucketOf(uint64_t value) {
    if (value < (1u << kSubBits)) return value;
    const int shift = std::bit_width(value) - 1 - kSubBits;
    return (static_cast<size_t>(shift + 1) << kSubBits) + ((value >> shift) - (1u << kSubBits));
  }

 private:
  // The smallest value of a bucket.
  static uint64_t LowerEnd(size_t bucket);
  // Makes room for the bucket and the other buckets of its width.
  void Cover(size_t bucket);

  // Counts of the buckets from first_ on; all other buckets are empty.
  std::vector<uint64_t> counts_;
  size_t first_ = 0;
};

}  // namespace bfly::dataplane
