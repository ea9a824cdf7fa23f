// SPDX-License-Identifier: Apache-2.0
// How figures of step programs grow with n, beside the shape that the paper states.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/measure/core/growth_fit.h"
#include "control/measure/core/report.h"
#include "control/measure/steps/step_program.h"

namespace bfly::control {

// One figure of one curve, fitted to the means at its sizes.
struct StepFit {
  std::string curve;  // Point::Curve
  StepFigure figure;
  std::vector<GrowthFit> fits;
};

// Figures that are drawn over log n, of every curve with enough sizes.
std::vector<StepFit> FitStepCurves(const Report& report);
// [{curve, figure, shape, intercept, slope, r_squared, sizes, stated}], as for circuit protocols.
nlohmann::ordered_json StepFitsJson(const Report& report);
std::string StepFitTable(const Report& report);

}  // namespace bfly::control
