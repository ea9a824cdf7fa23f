// SPDX-License-Identifier: Apache-2.0
// One side of one splitter of a multibutterfly, as a bipartite graph (Diebold 2008, section 2.1: a
// concentrator).
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.h"

namespace bfly {

// `inputs` nodes with `degree` links each to inputs / 2 outputs. Every output has 2 * degree links.
struct SplitterSide {
  uint32_t inputs = 0;  // a power of two, at least 2
  int degree = 0;
  std::vector<uint32_t> heads;  // by input and link; outputs are counted from 0

  uint32_t outputs() const { return inputs / 2; }
  // The outputs that an input leads to, each once, ascending.
  std::vector<uint32_t> NeighboursOf(uint32_t input) const;
};

// Splitter number `splitter`, from the top, of a stage of a multibutterfly, and its side in
// `direction`.
SplitterSide SideOf(const Network& network, int stage, uint32_t splitter, int direction);

}  // namespace bfly
