// SPDX-License-Identifier: Apache-2.0
// The plots of an experiment about step programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "control/plot/figure.h"

namespace bfly::control {

// `series` is that of results.json. Each figure that a program draws becomes one plot for each
// program, named after both: "waves-phases".
std::vector<Figure> StepFigures(const std::string& title, const nlohmann::ordered_json& series);

}  // namespace bfly::control
