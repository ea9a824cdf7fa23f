// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace bfly::control {

// The probabilities of 0, 1, ... events if `mean` > 0 are expected, cut where the rest is below
// 1e-15.
std::vector<double> PoissonProbabilities(double mean);

}  // namespace bfly::control
