// SPDX-License-Identifier: Apache-2.0
// What faults make unreachable: the pairs of input and output row that have no path any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "topologies/fault_set.h"
#include "topologies/network.h"

namespace bfly {

struct RowPair {
  Row input = 0;
  Row output = 0;
  friend bool operator==(const RowPair&, const RowPair&) = default;
};

struct LostPairs {
  uint64_t pairs = 0;
  // False: `most_steps` was too little, and at least `pairs` pairs are lost.
  bool exact = true;
  std::vector<RowPair> examples;  // the first ones, by input, then by output
  std::vector<Row> inputs;        // rows whose input has no path to any output
  std::vector<Row> outputs;       // rows whose output no input has a path to
  // Switches that are not down and count as faulty (faulty_switches.h).
  uint64_t faulty_switches = 0;
};

// About a second on one core.
inline constexpr uint64_t kMostPathSteps = uint64_t{1} << 30;

// Counts exactly, over the links that no fault blocks. Where two nodes have one path at most, it
// counts paths. Elsewhere it follows the inputs that may have lost an output, 64 at a time, and
// takes at most `most_steps` steps over links for that.
LostPairs FindLostPairs(const FaultSet& faults, size_t most_examples,
                        uint64_t most_steps = kMostPathSteps);

}  // namespace bfly
