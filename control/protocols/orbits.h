// SPDX-License-Identifier: Apache-2.0
// The smallest row on the orbit of every row under a permutation, found by several threads.
//
// Pointer jumping finds it in O(log rows) rounds (Nassimi and Sahni, "Parallel algorithms to set up
// the Benes permutation network", IEEE Trans. Comp. C-31, 1982), with a processor a row. With few
// processors that is log rows times too much work. So a pseudorandom 1 of 32 rows walk their orbit
// up to the next such row, which cuts it into stretches, and pointers jump among the stretches only
// (Helman and JaJa rank lists like that: "Designing practical efficient algorithms for symmetric
// multiprocessors", ALENEX 1999). On an orbit that has no such row each row is a stretch: few rows,
// or a short orbit, which takes few rounds.
#pragma once

#include <vector>

#include "topologies/crew.h"
#include "topologies/network.h"

namespace bfly::control {

class Orbits {
 public:
  // next: a permutation of 0..rows-1; rows is at least 1. What was found before is forgotten. The
  // same for every crew.
  void Find(const Row* next, Row rows, Crew& crew);

  // The smallest row on the orbit of `row`.
  Row smallest(Row row) const { return least_[stretch_[row]]; }
  // Rounds of pointer jumping: at most 2 + log2 of the most stretches of one orbit.
  int rounds() const { return rounds_; }
  size_t stretches() const { return least_.size(); }

 private:
  void WalkStretches(const Row* next, Row first, Row last, Row number);
  void Jump(Crew& crew);

  std::vector<Row> stretch_;  // by row
  std::vector<Row> after_;    // by stretch: the one that follows
  std::vector<Row> least_;    // by stretch: its smallest row, in the end its orbit's
  int rounds_ = 0;
};

}  // namespace bfly::control
