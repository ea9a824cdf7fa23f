// SPDX-License-Identifier: Apache-2.0
// Experiment files: the message of an experiment written as YAML, with values from the command line
// laid over it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "control/measure/core/experiment.h"

namespace bfly::control {

// Reads `path` as the kind of experiment that its keys say and lays `overrides` ("rho=0.5" or
// "seeds=[1, 2]", any key of the message) over it. `clock` is "virtual", "wall" or empty: as the
// file says. Everything wrong is in the status, one error a line; defaults are filled in.
absl::StatusOr<std::unique_ptr<Experiment>> ReadExperiment(
    const std::string& path, const std::vector<std::string>& overrides,
    const std::string& clock = "");

// The effective configuration as a file that reads back to the same experiment.
std::string WriteExperiment(const Experiment& experiment);

}  // namespace bfly::control
