// SPDX-License-Identifier: Apache-2.0
// Experiments about circuit protocols: bfly.v1.CircuitExperiment.
#pragma once

#include <memory>

#include "control/measure/core/experiment.h"

namespace bfly::control {

std::unique_ptr<Experiment> NewCircuitExperiment();

}  // namespace bfly::control
