// SPDX-License-Identifier: Apache-2.0
#include "topologies/wiring.h"

namespace bfly {

std::vector<StageWiring> HypercubeWiring(int dimension) {
  std::vector<StageWiring> stages;
  for (int index = 0; index < dimension; ++index) {
    stages.push_back({.mask = uint32_t{1} << index, .table = {}});
  }
  return stages;
}

}  // namespace bfly
