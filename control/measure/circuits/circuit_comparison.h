// SPDX-License-Identifier: Apache-2.0
// Two protocols on the same trials: the same seed gives both the same switches and permutation, or
// the same wiring. What is measured so is reported and is no claim: no theorem orders them.
#pragma once

#include <string>
#include <vector>

#include "control/measure/circuits/circuit_point.h"

namespace bfly::control {

struct SeedComparison {
  std::string figure;
  std::string first, second;  // curves
  int d = 0;
  // Seeds by what the first has beside the second.
  int less = 0;
  int equal = 0;
  int more = 0;
  Estimate difference;  // second - first, over the seeds

  int trials() const { return less + equal + more; }
};

// Congestion of minimum and of collision beside one random choice and Valiant; congestion and disk
// contention of two copies beside one. At every point where both protocols of a pair were run.
std::vector<SeedComparison> CompareBySeed(const std::vector<Measurement>& series);

}  // namespace bfly::control
