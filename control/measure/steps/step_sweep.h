// SPDX-License-Identifier: Apache-2.0
// The points of an experiment about step programs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/step_experiment.pb.h"
#include "control/measure/steps/step_point.h"

namespace bfly::control {

// Gives every key that the file leaves out its default, if all programs of the file that have the
// key have the same default.
void FillStepDefaults(v1::StepExperiment* experiment);

// All points: program by program, each over the keys that the program has, d last. A program's own
// default stands in for a key that the file leaves out. InvalidArgument: a key is given that no
// program of the file has, or a value is impossible; the message begins with the key.
absl::StatusOr<std::vector<StepPoint>> StepPointsOf(const v1::StepExperiment& experiment);

}  // namespace bfly::control
