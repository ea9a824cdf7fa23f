// SPDX-License-Identifier: Apache-2.0
// Percentiles of delays without keeping them: buckets of equal relative width (as HDR histograms
// have).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bfly::dataplane {

// Values 0..2^63 in ticks; a value is known to one part in 2^kSubBits.
class DelayHistogram {
 public:
  DelayHistogram() : counts_(static_cast<size_t>(64 - kSubBits + 1) << kSubBits) {}

  void Add(uint64_t value) { ++counts_[BucketOf(value)]; }
  void AddTo(size_t bucket) { ++counts_[bucket]; }
  void Merge(const DelayHistogram& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  }

  size_t bytes() const { return counts_.size() * sizeof(counts_[0]); }

  // The smallest bucket value that at least `fraction` of the values do not exceed; 0 if there are
  // none.
  uint64_t Quantile(double fraction) const;

  static constexpr int kSubBits = 7;
  static size_t BucketOf(uint64_t value) {
    if (value < (1u << kSubBits)) return value;
    const int shift = std::bit_width(value) - 1 - kSubBits;
    return (static_cast<size_t>(shift + 1) << kSubBits) + ((value >> shift) - (1u << kSubBits));
  }

 private:
  // The largest value of a bucket.
  static uint64_t UpperEnd(size_t bucket);

  std::vector<uint64_t> counts_;
};

}  // namespace bfly::dataplane
