// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/md_c_queue.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "control/measure/packets/poisson.h"

namespace bfly::control {

double MeanDelayMDc(int c, double rho) {
  const std::vector<double> arrivals = PoissonProbabilities(c * rho);
  // Beyond c the tail of N falls by a factor of exp(-2 (1 - rho)) or more for each further c
  // states. The part that is cut is 1e-16 of it.
  const auto states =
      static_cast<size_t>(c + arrivals.size() + std::ceil(c * 20 / (1 - rho) / std::min(c, 8)));
  std::vector<double> now(states, 0), next(states, 0);
  now[0] = 1;
  double mean = 0;
  for (int step = 0; step < 10'000'000; ++step) {
    std::fill(next.begin(), next.end(), 0.0);
    for (size_t n = 0; n < states; ++n) {
      if (now[n] < 1e-20) continue;
      const size_t left = n > static_cast<size_t>(c) ? n - c : 0;
      for (size_t k = 0; k < arrivals.size(); ++k) {
        next[std::min(left + k, states - 1)] += now[n] * arrivals[k];
      }
    }
    double next_mean = 0;
    for (size_t n = 0; n < states; ++n) next_mean += static_cast<double>(n) * next[n];
    now.swap(next);
    // The mean rises geometrically to its limit, at a rate near rho^2. change / (1 - rho) bounds
    // what is left.
    if (step > c && std::abs(next_mean - mean) < 1e-10 * next_mean * (1 - rho)) {
      mean = next_mean;
      break;
    }
    mean = next_mean;
  }
  return mean / (c * rho);
}

double LeastDelayMDc(int c, double rho) {
  return std::max(1.0, 1 + rho / (2 * c * (1 - rho)) - (c - 1) / (2.0 * c));
}

}  // namespace bfly::control
