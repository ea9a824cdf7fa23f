// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/delay_histogram.h"

#include <cmath>

namespace bfly::dataplane {

void DelayHistogram::Cover(size_t bucket) {
  const size_t low = bucket >> kSubBits << kSubBits, high = low + (size_t{1} << kSubBits);
  if (counts_.empty()) first_ = low;
  if (low < first_) {
    counts_.insert(counts_.begin(), first_ - low, 0);
    first_ = low;
  }
  if (high > first_ + counts_.size()) counts_.resize(high - first_);
}

void DelayHistogram::Merge(const DelayHistogram& other) {
  if (other.counts_.empty()) return;
  Cover(other.first_);
  Cover(other.first_ + other.counts_.size() - 1);
  for (size_t i = 0; i < other.counts_.size(); ++i) {
    counts_[other.first_ + i - first_] += other.counts_[i];
  }
}

uint64_t DelayHistogram::LowerEnd(size_t bucket) {
  const size_t group = bucket >> kSubBits;
  if (group == 0) return bucket;
  const uint64_t low = (bucket & ((1u << kSubBits) - 1)) + (1u << kSubBits);
  return low << (group - 1);
}

uint64_t DelayHistogram::Quantile(double fraction) const {
  uint64_t total = 0;
  for (uint64_t count : counts_) total += count;
  if (total == 0) return 0;
  const auto wanted = static_cast<uint64_t>(std::ceil(fraction * static_cast<double>(total)));
  uint64_t seen = 0;
  for (size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted && seen > 0) return LowerEnd(first_ + bucket);
  }
  return LowerEnd(first_ + counts_.size() - 1);
}

}  // namespace bfly::dataplane
