// SPDX-License-Identifier: Apache-2.0
// Means with confidence intervals.
#pragma once

#include <vector>

namespace bfly::control {

struct Estimate {
  double mean = 0;
  double standard_error = 0;  // of the mean; 0 if there is one value
  int values = 0;

  // Half-width of the interval that holds the true mean with this confidence, by Student's t with
  // values - 1 degrees of freedom. Infinite with fewer than two values.
  double HalfWidth(double confidence) const;
};

// `values` are taken as independent and equally distributed.
Estimate EstimateMean(const std::vector<double>& values);

}  // namespace bfly::control
