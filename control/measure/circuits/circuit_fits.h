// SPDX-License-Identifier: Apache-2.0
// How figures of circuit protocols grow with n, beside the shape that the paper states.
#pragma once

#include <string>
#include <vector>

#include "control/measure/circuits/circuit_point.h"
#include "control/measure/core/growth_fit.h"

namespace bfly::control {

// One figure of one curve, fitted to the means at its sizes.
struct CurveFit {
  std::string curve;   // Point::Curve
  std::string figure;  // congestion, disk_contention, rounds, steps, locked
  std::vector<GrowthFit> fits;
  std::string stated;  // the shape that theory states for the figure; empty: none
  std::string source;  // where theory states it
};

// Set-up time of protocols that take requests one by one is left out, because it is always 2
// dilation a request. So are figures that q alone decides if links carry at most q circuits.
std::vector<CurveFit> FitCurves(const std::vector<Measurement>& series);

}  // namespace bfly::control
