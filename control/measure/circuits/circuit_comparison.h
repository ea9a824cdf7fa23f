// SPDX-License-Identifier: Apache-2.0
// Compares two protocols trial by trial. The same seed gives both the same switches and
// permutation, or the same wiring. The comparison is reported but is not a claim, because no
// theorem orders the protocols.
#pragma once

#include <string>
#include <vector>

#include "control/measure/circuits/circuit_point.h"

namespace bfly::control {

struct SeedComparison {
  std::string figure;
  std::string first, second;  // curves
  int d = 0;
  // Seeds at which the first curve has less than, as much as, or more than the second.
  int less = 0;
  int equal = 0;
  int more = 0;
  Estimate difference;  // second - first, over the seeds

  int trials() const { return less + equal + more; }
};

// Compares the congestion of minimum and of collision with one random choice and with Valiant, and
// the congestion and disk contention of two copies with one. It covers every point at which both
// protocols of a pair were run.
std::vector<SeedComparison> CompareBySeed(const std::vector<Measurement>& series);

}  // namespace bfly::control
