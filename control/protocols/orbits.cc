// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/orbits.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <utility>

#include "control/protocols/part.h"

namespace bfly::control {
namespace {

constexpr Row kNone = ~Row{0};

// True for one row in 32. The rows are scattered as if at random, so that orbits of regular
// permutations meet them too.
bool BeginsStretch(Row row) {
  uint32_t mixed = row * 0x9E3779B1u;
  mixed ^= mixed >> 15;
  return mixed * 0x85EBCA77u >> 27 == 0;
}

// Returns the sums of count(first, last) over the parts before part p, for each p, beginning with
// `from`; the last entry is the sum over all parts.
template <typename Count>
std::vector<Row> CountBefore(Crew& crew, Row rows, Row from, const Count& count) {
  std::vector<Row> before((rows + kCrewPart - 1) / kCrewPart + 1);
  before[0] = from;
  crew.ForEachPart(rows, kCrewPart, [&](int, size_t first, size_t last) {
    before[first / kCrewPart + 1] = static_cast<Row>(count(first, last));
  });
  std::partial_sum(before.begin(), before.end(), before.begin());
  return before;
}

}  // namespace

void Orbits::Find(const Row* next, Row rows, Crew& crew) {
  stretch_.resize(rows);
  const std::vector<Row> walked = CountBefore(crew, rows, 0, [&](size_t first, size_t last) {
    std::fill(&stretch_[first], &stretch_[first] + (last - first), kNone);
    Row begin = 0;
    for (size_t row = first; row < last; ++row) begin += BeginsStretch(static_cast<Row>(row));
    return begin;
  });
  after_.resize(walked.back());
  least_.resize(walked.back());
  crew.ForEachPart(rows, kCrewPart, [&](int, size_t first, size_t last) {
    WalkStretches(next, static_cast<Row>(first), static_cast<Row>(last), walked[first / kCrewPart]);
  });

  const std::vector<Row> unmet =
      CountBefore(crew, rows, walked.back(), [&](size_t first, size_t last) {
        return std::count(&stretch_[first], &stretch_[first] + (last - first), kNone);
      });
  after_.resize(unmet.back());
  least_.resize(unmet.back());
  crew.ForEachPart(rows, kCrewPart, [&](int, size_t first, size_t last) {
    Row number = unmet[first / kCrewPart];
    for (size_t row = first; row < last; ++row) {
      if (stretch_[row] != kNone) continue;
      stretch_[row] = number;
      after_[number] = next[row];
      least_[number] = static_cast<Row>(row);
      ++number;
    }
  });
  crew.ForEachPart(after_.size(), kCrewPart, [&](int, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) after_[i] = stretch_[after_[i]];
  });
  Jump(crew);
}

// Walks the stretches that begin in rows first..last-1 and numbers them from `number` on. Several
// stretches are walked at a time, because each step waits for memory. after_ of a stretch becomes
// the row at which the next stretch begins.
void Orbits::WalkStretches(const Row* next, Row first, Row last, Row number) {
  struct Walk {
    Row at = 0, stretch = 0, least = 0;
  };
  std::array<Walk, 16> walks;
  size_t walking = 0;
  Row candidate = first;
  const auto begin = [&](Walk& walk) {
    while (candidate < last && !BeginsStretch(candidate)) ++candidate;
    if (candidate == last) return false;
    stretch_[candidate] = number;
    walk = {.at = candidate, .stretch = number, .least = candidate};
    ++candidate;
    ++number;
    return true;
  };
  while (walking < walks.size() && begin(walks[walking])) ++walking;
  while (walking != 0) {
    for (size_t i = 0; i < walking;) {
      Walk& walk = walks[i];
      walk.at = next[walk.at];
      if (!BeginsStretch(walk.at)) {
        stretch_[walk.at] = walk.stretch;
        walk.least = std::min(walk.least, walk.at);
        ++i;
        continue;
      }
      after_[walk.stretch] = walk.at;
      least_[walk.stretch] = walk.least;
      if (begin(walk)) {
        ++i;
      } else {
        walk = walks[--walking];
      }
    }
  }
}

// After k rounds least_ is the smallest row of the 2^k stretches from this one on, and after_ is
// the stretch that follows those. When a round changes no least_, no stretch has a larger least_
// than its after_, so least_ is the same all around each cycle of after_. A step of that cycle
// leaps 2^k stretches, so the cycle has one of the 2^k consecutive stretches from which the orbit's
// smallest row is seen.
void Orbits::Jump(Crew& crew) {
  std::vector<Row> after(after_.size()), least(least_.size());
  rounds_ = 0;
  for (std::atomic<bool> changed = true; changed.load(std::memory_order_relaxed); ++rounds_) {
    changed.store(false, std::memory_order_relaxed);
    crew.ForEachPart(after_.size(), kCrewPart, [&](int, size_t first, size_t last) {
      bool smaller = false;
      for (size_t i = first; i < last; ++i) {
        const Row there = least_[after_[i]];
        smaller |= there < least_[i];
        least[i] = std::min(there, least_[i]);
        after[i] = after_[after_[i]];
      }
      if (smaller) changed.store(true, std::memory_order_relaxed);
    });
    std::swap(after, after_);
    std::swap(least, least_);
  }
}

}  // namespace bfly::control
