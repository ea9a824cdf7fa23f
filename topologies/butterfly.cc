// SPDX-License-Identifier: Apache-2.0
#include "topologies/wiring.h"

namespace bfly {

std::vector<StageWiring> ButterflyWiring(int dimension) { return ExtraStagesWiring(dimension, 0); }

std::vector<StageWiring> ExtraStagesWiring(int dimension, int extra_stages) {
  std::vector<StageWiring> stages;
  for (int stage = 0; stage < dimension + extra_stages; ++stage) {
    const int position = stage % dimension + 1;
    stages.push_back({.mask = MaskOfPosition(position, dimension), .table = {}});
  }
  return stages;
}

}  // namespace bfly
