// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace bfly::control {

double Estimate::HalfWidth(double confidence) const {
  if (values < 2) return std::numeric_limits<double>::infinity();
  const boost::math::students_t t(values - 1);
  return boost::math::quantile(t, 0.5 + confidence / 2) * standard_error;
}

Estimate EstimateMean(const std::vector<double>& values) {
  Estimate estimate;
  estimate.values = static_cast<int>(values.size());
  if (values.empty()) return estimate;
  const auto n = static_cast<double>(values.size());
  const bool equal = std::all_of(values.begin(), values.end(),
                                 [&](double value) { return value == values.front(); });
  if (equal) {  // exactly, and not to the last bit of a sum
    estimate.mean = values.front();
    return estimate;
  }
  for (const double value : values) estimate.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - estimate.mean, 2);
  estimate.standard_error = std::sqrt(squares / (n - 1) / n);
  return estimate;
}

}  // namespace bfly::control
