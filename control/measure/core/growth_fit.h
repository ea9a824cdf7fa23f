// SPDX-License-Identifier: Apache-2.0
// How a figure grows with the size of the network. A statement with O() or Theta() says nothing
// about any single n, so it is not checked as a bound. Instead, straight lines in its shape and in
// other shapes are fitted, and the reader compares them.
#pragma once

#include <string>
#include <vector>

namespace bfly::control {

// A shape of Cole et al. 1998, as a function of n = 2^d, logarithms to base 2.
struct GrowthShape {
  const char* name;
  int smallest_d;  // from here on the shape is defined and grows
  double (*at)(int d);
};
// For congestion and rounds: loglog n / logloglog n, loglog n, log n / loglog n, log n.
const std::vector<GrowthShape>& GrowthShapes();
// For set-up time: log n loglog n / logloglog n, log n, log n / loglog n.
const std::vector<GrowthShape>& SetUpShapes();
// For the fraction of requests that get through if links carry at most q circuits: 1 / log^(1/q) n
// for q = 1, 2, 3, 4 (Kruskal & Snir 1983, Koch 1988).
const std::vector<GrowthShape>& LockedShapes();

struct GrowthFit {
  std::string shape;
  double intercept = 0;
  double slope = 0;
  double r_squared = 0;
  int sizes = 0;
};

// Fits intercept + slope shape(n) to (d, value) by least squares, for each shape, over the sizes
// where the shape is defined. A shape with fewer than four such sizes, or a figure that does not
// grow over them, has no fit. A figure that is the same at every size has one fit, of shape
// "constant".
std::vector<GrowthFit> FitGrowth(const std::vector<GrowthShape>& shapes, const std::vector<int>& d,
                                 const std::vector<double>& values);

}  // namespace bfly::control
