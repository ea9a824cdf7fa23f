// SPDX-License-Identifier: Apache-2.0
// The statistics of several runs of a bench.
#pragma once

#include <algorithm>
#include <vector>

namespace bfly::dataplane {

struct RunStatistics {
  double median = 0;
  double lowest = 0;
  double highest = 0;
};

// There must be at least one run.
inline RunStatistics StatisticsOf(std::vector<double> runs) {
  std::sort(runs.begin(), runs.end());
  const size_t n = runs.size();
  const double median = n % 2 ? runs[n / 2] : (runs[n / 2 - 1] + runs[n / 2]) / 2;
  return {.median = median, .lowest = runs.front(), .highest = runs.back()};
}

}  // namespace bfly::dataplane
