// SPDX-License-Identifier: Apache-2.0
// Sweeps: every combination of the values that the keys of a file have.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace bfly::control {

// Replaces each point by one point for each value of a key, set by `give(point, value)`. The key
// that is swept first changes most slowly. `values` is a list or, for keys that not every point
// has, a function that returns the list of a point.
template <typename P, typename Values, typename Give>
void Sweep(std::vector<P>& points, const Values& values, const Give& give) {
  std::vector<P> swept;
  for (const P& point : points) {
    const auto each = [&](const auto& list) {
      for (const auto& value : list) give(swept.emplace_back(point), value);
    };
    if constexpr (std::invocable<Values, const P&>) {
      each(values(point));
    } else {
      each(values);
    }
  }
  points = std::move(swept);
}

// InvalidArgument: the points and seeds of an experiment give more trials than it may have.
absl::Status CheckTrials(uint64_t trials);

}  // namespace bfly::control
