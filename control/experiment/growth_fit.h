// SPDX-License-Identifier: Apache-2.0
// How a figure grows with the size of the network. A statement with O() or Theta() says nothing
// about any one n, so it is never checked as a bound: straight lines in its shape and in the other
// shapes are fitted, and the reader compares.
#pragma once

#include <string>
#include <vector>

namespace bfly::control {

// A shape of Cole et al. 1998, as a function of n = 2^d, logarithms to base 2.
struct GrowthShape {
  const char* name;
  int smallest_d;  // where it is defined and grows
  double (*at)(int d);
};
// loglog n / logloglog n, loglog n, log n / loglog n, log n.
const std::vector<GrowthShape>& GrowthShapes();

struct GrowthFit {
  std::string shape;
  double intercept = 0;
  double slope = 0;
  double r_squared = 0;
  int sizes = 0;
};

// Least squares of intercept + slope shape(n) through (d, value), in each shape, over the sizes
// where it is defined. Shapes with fewer than four of them are left out.
std::vector<GrowthFit> FitGrowth(const std::vector<int>& d, const std::vector<double>& values);

}  // namespace bfly::control
