// SPDX-License-Identifier: Apache-2.0
#include "topologies/wiring.h"

namespace bfly {

std::vector<StageWiring> ButterflyWiring(int dimension) {
  std::vector<StageWiring> stages;
  for (int position = 1; position <= dimension; ++position) {
    stages.push_back({.mask = MaskOfPosition(position, dimension), .table = {}});
  }
  return stages;
}

}  // namespace bfly
