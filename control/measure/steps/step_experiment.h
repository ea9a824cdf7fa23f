// SPDX-License-Identifier: Apache-2.0
// Experiments about step programs, in synchronous steps: bfly.v1.StepExperiment.
#pragma once

#include <memory>

#include "control/measure/core/experiment.h"

namespace bfly::control {

std::unique_ptr<Experiment> NewStepExperiment();

}  // namespace bfly::control
