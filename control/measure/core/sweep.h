// SPDX-License-Identifier: Apache-2.0
// Every combination of the values that the keys of a file have.
#pragma once

#include <concepts>
#include <utility>
#include <vector>

namespace bfly::control {

// Replaces each point by one for each value of a key; `give(point, value)` is how a point takes it.
// The key that is swept first so changes slowest. `values` is a list, or a function that gives the
// list of a point, for keys that not every point has.
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

}  // namespace bfly::control
