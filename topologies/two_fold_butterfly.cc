// SPDX-License-Identifier: Apache-2.0
#include "topologies/wiring.h"

namespace bfly {

std::vector<StageWiring> TwoFoldButterflyWiring(int dimension) {
  std::vector<StageWiring> stages = ButterflyWiring(dimension);
  for (const StageWiring& second : ButterflyWiring(dimension)) stages.push_back(second);
  return stages;
}

}  // namespace bfly
