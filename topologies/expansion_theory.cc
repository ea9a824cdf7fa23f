// SPDX-License-Identifier: Apache-2.0
#include "topologies/expansion_theory.h"

#include <algorithm>
#include <cmath>

namespace bfly {

double AlphaOfFact1(int d, double beta) {
  const double spare = d - beta - 1;
  if (spare <= 0) return 0;
  // Solved for alpha. If beta + 1 + ln 2 beta is not above 0 (beta below 0.157), every alpha with
  // 2 alpha beta < 1 satisfies the second condition.
  return std::exp(std::min(0.0, -(beta + 1 + std::log(2 * beta)) / spare)) / (2 * beta);
}

double AlphaOfConcentrators(int d, double beta) {
  const double spare = d - beta - 1;
  if (spare <= 0) return 0;
  // For beta below 0.084 the lemma as printed gives more, but then alpha m inputs would need more
  // than the m / 2 outputs that there are.
  return std::exp(std::min(0.0, -(beta + 1 + std::log(4 * beta)) / spare)) / (2 * beta);
}

double DeltaOfNeighbours(int d, double beta, int r) {
  if (r > d) return 0;
  return std::max(0.0, (2 * beta - d - r + 1) / (d - r + 1));
}

}  // namespace bfly
