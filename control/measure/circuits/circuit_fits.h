// SPDX-License-Identifier: Apache-2.0
// How figures of circuit protocols grow with n, and which shape the paper gives them.
#pragma once

#include <string>
#include <vector>

#include "control/measure/circuits/circuit_point.h"
#include "control/measure/core/growth_fit.h"

namespace bfly::control {

// One figure of one curve, over the means of its sizes.
struct CurveFit {
  std::string curve;   // Point::Curve
  std::string figure;  // congestion, disk_contention, rounds, steps, locked
  std::vector<GrowthFit> fits;
  std::string stated;  // the shape that theory states for it; empty: none
  std::string source;  // where it does
};

// Left out: set-up time of protocols that take requests one by one, 2 dilation each, and what q
// alone decides of those whose links bear q circuits.
std::vector<CurveFit> FitCurves(const std::vector<Measurement>& series);

}  // namespace bfly::control
