// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/growth_fit.h"

#include <algorithm>
#include <boost/math/statistics/linear_regression.hpp>
#include <cmath>

namespace bfly::control {
namespace {

constexpr size_t kFewestSizes = 4;

double LogLog(int d) { return std::log2(d); }
double LogLogLog(int d) { return std::log2(std::log2(d)); }

}  // namespace

const std::vector<GrowthShape>& GrowthShapes() {
  static const std::vector<GrowthShape> shapes = {
      // This shape falls up to log log n = e, and it is 0 / 0 at n = 4.
      {"loglog n / logloglog n", 7, [](int d) { return LogLog(d) / LogLogLog(d); }},
      {"loglog n", 1, LogLog},
      {"log n / loglog n", 3, [](int d) { return d / LogLog(d); }},
      {"log n", 1, [](int d) { return static_cast<double>(d); }},
  };
  return shapes;
}

const std::vector<GrowthShape>& SetUpShapes() {
  static const std::vector<GrowthShape> shapes = {
      {"log n loglog n / logloglog n", 7, [](int d) { return d * LogLog(d) / LogLogLog(d); }},
      {"log n", 1, [](int d) { return static_cast<double>(d); }},
      {"log n / loglog n", 3, [](int d) { return d / LogLog(d); }},
  };
  return shapes;
}

const std::vector<GrowthShape>& LockedShapes() {
  static const std::vector<GrowthShape> shapes = {
      {"1 / log n", 1, [](int d) { return 1.0 / d; }},
      {"1 / log^(1/2) n", 1, [](int d) { return 1 / std::sqrt(d); }},
      {"1 / log^(1/3) n", 1, [](int d) { return 1 / std::cbrt(d); }},
      {"1 / log^(1/4) n", 1, [](int d) { return std::pow(d, -0.25); }},
  };
  return shapes;
}

std::vector<GrowthFit> FitGrowth(const std::vector<GrowthShape>& shapes, const std::vector<int>& d,
                                 const std::vector<double>& values) {
  std::vector<GrowthFit> fits;
  const bool constant = std::all_of(values.begin(), values.end(),
                                    [&](double value) { return value == values.front(); });
  if (constant && d.size() >= kFewestSizes) {
    return {{.shape = "constant",
             .intercept = values.front(),
             .r_squared = 1,
             .sizes = static_cast<int>(d.size())}};
  }
  for (const GrowthShape& shape : shapes) {
    std::vector<double> x, y;
    for (size_t i = 0; i < d.size(); ++i) {
      if (d[i] < shape.smallest_d) continue;
      x.push_back(shape.at(d[i]));
      y.push_back(values[i]);
    }
    // A figure that is the same at all sizes where the shape is defined has no shape of growth, and
    // its R^2 would be 0 / 0.
    const bool flat = std::all_of(y.begin(), y.end(), [&](double value) { return value == y[0]; });
    if (x.size() < kFewestSizes || flat) continue;
    GrowthFit fit{.shape = shape.name, .sizes = static_cast<int>(x.size())};
    std::tie(fit.intercept, fit.slope, fit.r_squared) =
        boost::math::statistics::simple_ordinary_least_squares_with_R_squared(x, y);
    fits.push_back(std::move(fit));
  }
  return fits;
}

}  // namespace bfly::control
