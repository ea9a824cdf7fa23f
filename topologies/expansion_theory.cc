// SPDX-License-Identifier: Apache-2.0
#include "topologies/expansion_theory.h"

#include <algorithm>
#include <cmath>

namespace bfly {

double AlphaOfFact1(int d, double beta) {
  const double spare = d - beta - 1;
  if (spare <= 0) return 0;
  // Solved for alpha. The exponent is negative for every beta above 0, so 2 alpha beta < 1.
  return std::exp(-(beta + 1 + std::log(2 * beta)) / spare) / (2 * beta);
}

double AlphaOfConcentrators(int d, double beta) {
  const double spare = d - beta - 1;
  if (spare <= 0) return 0;
  return std::exp(-(beta + 1 + std::log(4 * beta)) / spare) / (2 * beta);
}

double DeltaOfNeighbours(int d, double beta, int r) {
  if (r > d) return 0;
  return std::max(0.0, (2 * beta - d - r + 1) / (d - r + 1));
}

}  // namespace bfly
