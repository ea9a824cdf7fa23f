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

// Reads `path` as the kind of experiment that its keys tell and lays `overrides` ("rho=0.5" or
// "seeds=[1, 2]", any key of the message) over it. `clock` is "virtual" or "wall", or empty for the
// clock that the file names. Fills in the defaults. The status lists all errors, one a line.
absl::StatusOr<std::unique_ptr<Experiment>> ReadExperiment(
    const std::string& path, const std::vector<std::string>& overrides,
    const std::string& clock = "");

// Writes the effective configuration as a file that reads back as the same experiment.
std::string WriteExperiment(const Experiment& experiment);

}  // namespace bfly::control
