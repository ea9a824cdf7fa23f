// SPDX-License-Identifier: Apache-2.0
// Experiments about packets that cross the network by themselves, under the virtual clock or on the
// wall clock: bfly.v1.Experiment.
#pragma once

#include <memory>

#include "control/measure/core/experiment.h"

namespace bfly::control {

std::unique_ptr<Experiment> NewPacketExperiment();

}  // namespace bfly::control
