// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bfly::dataplane {

// The least of the values that at least `percent` percent of them do not exceed (1..100); 0 if
// there are no values. The values are sorted.
inline double PercentileOf(const std::vector<double>& sorted, size_t percent) {
  if (sorted.empty()) return 0;
  const size_t rank = (percent * sorted.size() + 99) / 100;  // from 1
  return sorted[std::max<size_t>(rank, 1) - 1];
}

}  // namespace bfly::dataplane
