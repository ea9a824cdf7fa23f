// SPDX-License-Identifier: Apache-2.0
// Finds the smallest row on the orbit of every row under a permutation, with several threads.
//
// Pointer jumping finds it in O(log rows) rounds with a processor a row (Nassimi and Sahni,
// "Parallel algorithms to set up the Benes permutation network", IEEE Trans. Comp. C-31, 1982).
// With few processors that is log rows times too much work. So a pseudorandom one of 32 rows walks
// its orbit up to the next such row. These walks cut the orbit into stretches, and pointers jump
// among the stretches only. Helman and JaJa rank lists like that ("Designing practical efficient
// algorithms for symmetric multiprocessors", ALENEX 1999). On an orbit without such a row each row
// is a stretch of its own; such orbits are few or short, so they take few rounds.
#pragma once

#include <vector>

#include "topologies/crew.h"
#include "topologies/network.h"

namespace bfly::control {

class Orbits {
 public:
  // `next` is a permutation of 0..rows-1, and rows is at least 1. A call replaces the results of
  // the call before. The results do not depend on the crew.
  void Find(const Row* next, Row rows, Crew& crew);

  // The smallest row on the orbit of `row`.
  Row smallest(Row row) const { return least_[stretch_[row]]; }
  // Rounds of pointer jumping: at most 2 + log2 of the number of stretches of the longest orbit.
  int rounds() const { return rounds_; }
  size_t stretches() const { return least_.size(); }

 private:
  void WalkStretches(const Row* next, Row first, Row last, Row number);
  void Jump(Crew& crew);

  std::vector<Row> stretch_;  // by row
  std::vector<Row> after_;    // by stretch: the stretch that follows
  std::vector<Row> least_;    // by stretch: its smallest row; at the end, its orbit's
  int rounds_ = 0;
};

}  // namespace bfly::control
