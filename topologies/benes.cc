// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "topologies/wiring.h"

namespace bfly {

std::vector<StageWiring> BenesWiring(int dimension) {
  std::vector<StageWiring> stages = ButterflyWiring(dimension);
  std::vector<StageWiring> second = ButterflyWiring(dimension);
  std::reverse(second.begin(), second.end());
  stages.insert(stages.end(), second.begin(), second.end());
  return stages;
}

}  // namespace bfly
