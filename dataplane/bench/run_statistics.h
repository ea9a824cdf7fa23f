// SPDX-License-Identifier: Apache-2.0
// The statistics of several runs of a bench.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace bfly::dataplane {

struct RunStatistics {
  double median = 0;
  double lowest = 0;
  double highest = 0;
};

// A share in percent, rounded down to two decimals, so that a share below a bound is never told as
// the bound.
inline double PercentRoundedDown(double share) { return std::floor(1e4 * share + 1e-6) / 100; }

// There must be at least one run.
inline RunStatistics StatisticsOf(std::vector<double> runs) {
  std::sort(runs.begin(), runs.end());
  const size_t n = runs.size();
  const double median = n % 2 ? runs[n / 2] : (runs[n / 2 - 1] + runs[n / 2]) / 2;
  return {.median = median, .lowest = runs.front(), .highest = runs.back()};
}

// Of one figure of each run: figure(run).
template <typename Run, typename Figure>
RunStatistics StatisticsOver(const std::vector<Run>& runs, Figure figure) {
  std::vector<double> figures;
  for (const Run& run : runs) figures.push_back(static_cast<double>(figure(run)));
  return StatisticsOf(std::move(figures));
}

}  // namespace bfly::dataplane
