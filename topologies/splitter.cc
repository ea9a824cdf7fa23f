// SPDX-License-Identifier: Apache-2.0
#include "topologies/splitter.h"

#include <algorithm>

namespace bfly {

std::vector<uint32_t> SplitterSide::NeighboursOf(uint32_t input) const {
  const auto first = heads.begin() + static_cast<std::ptrdiff_t>(input) * degree;
  std::vector<uint32_t> neighbours(first, first + degree);
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  return neighbours;
}

SplitterSide SideOf(const Network& network, int stage, uint32_t splitter, int direction) {
  const uint32_t inputs = network.rows() >> stage;
  const Row first_row = splitter * inputs;
  SplitterSide side{.inputs = inputs, .degree = network.multiplicity(), .heads = {}};
  const Row first_output = first_row + static_cast<uint32_t>(direction) * side.outputs();
  side.heads.reserve(size_t{inputs} * static_cast<size_t>(side.degree));
  for (uint32_t input = 0; input < inputs; ++input) {
    for (int link = 0; link < side.degree; ++link) {
      const int port = direction * side.degree + link;
      side.heads.push_back(network.next_row(stage, first_row + input, port) - first_output);
    }
  }
  return side;
}

}  // namespace bfly
