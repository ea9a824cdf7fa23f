// SPDX-License-Identifier: Apache-2.0
// What can be said of the expansion of a whole multibutterfly: level by level, each figure with how
// it was found, and beside it what the papers' theorems would accept.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topologies/network.h"

namespace bfly {

// A set of inputs of one splitter that has fewer than beta neighbours an input on one side.
struct ExpansionViolation {
  uint32_t splitter = 0;  // of its level, from the top
  int direction = 0;
  std::vector<Row> inputs;
  uint32_t neighbours = 0;
};

// The largest K such that every set of up to K inputs of every examined splitter has at least beta
// neighbours an input on each side lies in at_least..at_most.
struct ExpandingSets {
  double beta = 0;
  uint32_t at_least = 0;
  uint32_t at_most = 0;
  // Of a level that is not exact: the set that the search found; none: at_most is what the number
  // of outputs allows.
  std::optional<ExpansionViolation> violation;
};

// The splitters of one stage.
struct LevelExpansion {
  int stage = 0;
  uint32_t inputs = 0;     // of a splitter
  uint32_t splitters = 0;  // of the stage
  uint32_t examined = 0;   // the first ones; fewer than all where all would take too long
  bool exact = false;      // all sets of inputs were looked at
  // The largest second singular value of an examined side; absent where `exact`, and where the
  // sides are too large to compute it.
  std::optional<double> second_singular_value;
  std::vector<ExpandingSets> sets;  // by beta
};

// Of the whole network, for one beta.
struct NetworkExpansion {
  double beta = 0;
  // The examined splitters have (alpha, beta)-expansion for every alpha below alpha_at_least, and
  // have not for alpha_at_most and above.
  double alpha_at_least = 0;
  double alpha_at_most = 0;
  double fact_1_alpha = 0;        // expansion_theory.h; 0: none
  double concentrator_alpha = 0;  // expansion_theory.h; 0: none
  double delta = 0;               // for R = kNeighboursWanted; 0: none
};
inline constexpr int kNeighboursWanted = 8;  // R of Pietracaprina 1997, section 3

struct SplitterReport {
  std::vector<LevelExpansion> levels;
  std::vector<NetworkExpansion> network;
  bool examined_all = true;
};

// `network` is a multibutterfly. Takes a few seconds for the largest ones.
SplitterReport ReportSplitters(const Network& network);

}  // namespace bfly
