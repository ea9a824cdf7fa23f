// SPDX-License-Identifier: Apache-2.0
// Experiments about the pairs of rows that survive faults: bfly.v1.SurvivalExperiment.
#pragma once

#include <memory>

#include "control/measure/core/experiment.h"

namespace bfly::control {

std::unique_ptr<Experiment> NewSurvivalExperiment();

}  // namespace bfly::control
