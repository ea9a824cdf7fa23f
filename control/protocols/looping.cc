// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/looping.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "control/protocols/orbits.h"
#include "control/protocols/part.h"

namespace bfly::control {
namespace {

class Looping {
 public:
  Looping(const Permutation& permutation, Crew& crew)
      : crew_(crew),
        target_(permutation),
        input_of_(permutation.size()),
        next_(permutation.size()),
        inverse_(permutation.size()),
        side_(permutation.size()) {
    std::iota(input_of_.begin(), input_of_.end(), Row{0});
  }

  std::vector<Row> MiddleRows() {
    const auto rows = static_cast<Row>(target_.size());
    const auto workers = static_cast<Row>(crew_.workers());
    // All workers split a block together until there is a block for each of them.
    Row size = rows;
    for (; size > 1 && rows / size < workers; size /= 2) {
      for (Row first = 0; first < rows; first += size) SplitTogether(first, size / 2);
    }
    crew_.ForEach(rows / size,
                  [&](int, size_t block) { SplitAlone(static_cast<Row>(block) * size, size); });
    std::vector<Row> middle(rows);
    for (Row row = 0; row < rows; ++row) middle[input_of_[row]] = row;
    return middle;
  }

 private:
  // Goes depth first, so that from some size on a block and all that is in it stay in the cache.
  void SplitAlone(Row first, Row size) {
    if (size < 2) return;
    const Row half = size / 2;
    WalkLoops(first, half);
    for (Row row = first; row < first + half; ++row) Halve(row, half, side_[row] == 1);
    SplitAlone(first, half);
    SplitAlone(first + half, half);
  }

  // Sends the two messages of `row` and row + half to one half of the block each.
  void Halve(Row row, Row half, bool swap) {
    if (swap) {
      std::swap(target_[row], target_[row + half]);
      std::swap(input_of_[row], input_of_[row + half]);
    }
    target_[row] &= half - 1;
    target_[row + half] &= half - 1;
  }

  // Sets side_[row], the half for the message in `row`. A loop is walked in both directions at
  // once, because each step waits for the memory of the step before it.
  void WalkLoops(Row first, Row half) {
    constexpr uint8_t kUnset = 2;
    const Row* const target = target_.data() + first;
    Row* const partner = next_.data() + first;  // the row of the message that shares the output
                                                // switch
    Row* const pair = inverse_.data() + first;
    uint8_t* const side = side_.data() + first;
    std::fill_n(pair, half, Row{0});
    for (Row row = 0; row < 2 * half; ++row) pair[target[row] & (half - 1)] ^= row;
    for (Row row = 0; row < 2 * half; ++row) partner[row] = pair[target[row] & (half - 1)] ^ row;
    std::fill_n(side, 2 * half, kUnset);
    for (Row start = 0; start < half; ++start) {
      Row onward = start;
      Row back = start ^ half;
      while (side[onward] == kUnset) {
        side[onward] = 0;
        side[partner[onward]] = 1;
        onward = partner[onward] ^ half;
        if (side[back] != kUnset) break;
        side[back] = 1;
        side[partner[back]] = 0;
        back = partner[back] ^ half;
      }
    }
  }

  void SplitTogether(Row first, Row half);

  Crew& crew_;
  std::vector<Row> target_;    // by row: where in its block its message goes
  std::vector<Row> input_of_;  // by row: where its message came from
  std::vector<Row> next_, inverse_;
  std::vector<uint8_t> side_;
  Orbits orbits_;
};

void Looping::SplitTogether(Row first, Row half) {
  const Row* const target = target_.data() + first;
  Row* const inverse = inverse_.data() + first;
  Row* const next = next_.data() + first;
  crew_.ForEachPart(2 * size_t{half}, kCrewPart, [&](int, size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) inverse[target[row]] = static_cast<Row>(row);
  });
  crew_.ForEachPart(2 * size_t{half}, kCrewPart, [&](int, size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) next[row] = inverse[target[row] ^ half] ^ half;
  });
  orbits_.Find(next, 2 * half, crew_);
  crew_.ForEachPart(half, kCrewPart, [&](int, size_t begin, size_t end) {
    for (auto row = static_cast<Row>(begin); row < end; ++row) {
      Halve(first + row, half, orbits_.smallest(row) > orbits_.smallest(row + half));
    }
  });
}

}  // namespace

std::vector<Row> MiddleRows(const Permutation& permutation, Crew& crew) {
  return Looping(permutation, crew).MiddleRows();
}

}  // namespace bfly::control
