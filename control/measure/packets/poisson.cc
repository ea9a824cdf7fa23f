// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/poisson.h"

#include <cmath>

namespace bfly::control {

std::vector<double> PoissonProbabilities(double mean) {
  std::vector<double> probability;
  double sum = 0;
  for (int k = 0; sum < 1 - 1e-15 || k < mean; ++k) {
    probability.push_back(std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0)));
    sum += probability.back();
    if (k > mean && probability.back() < 1e-18) break;
  }
  return probability;
}

}  // namespace bfly::control
