// SPDX-License-Identifier: Apache-2.0
// The keys of bfly.v1.StepExperiment that programs sweep, read from the message by name.
#pragma once

#include <string>
#include <vector>

#include "bfly/v1/step_experiment.pb.h"
#include "control/measure/steps/step_point.h"

namespace bfly::control {

// Every repeated field that some programs have and others have not, in the order of the message.
const std::vector<std::string>& StepKeys();

// The values that the file gives to a key; none if the key is left out. `key` is one of StepKeys().
std::vector<StepValue> GivenValues(const v1::StepExperiment& experiment, const std::string& key);
// Gives the key one value, written as in the file.
void SetValue(const std::string& key, const std::string& text, v1::StepExperiment* experiment);
// What a default means: a number if it reads as a number.
StepValue ValueOf(const std::string& text);

}  // namespace bfly::control
