// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace bfly::control {

// Probabilities of 0, 1, ... events where `mean` are expected, mean > 0; cut where the rest is
// below 1e-15.
std::vector<double> PoissonProbabilities(double mean);

}  // namespace bfly::control
