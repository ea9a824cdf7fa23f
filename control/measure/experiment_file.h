// SPDX-License-Identifier: Apache-2.0
// Experiment files: bfly.v1.Experiment or bfly.v1.CircuitExperiment written as YAML, with values
// from the command line laid over it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuit_experiment.pb.h"
#include "bfly/v1/experiment.pb.h"

namespace bfly::control {

// Reads `path` and lays `overrides` ("rho=0.5" or "seeds=[1, 2]", any key of the message) over it.
// Everything wrong with either is in the status, one error a line, defaults are filled in.
absl::StatusOr<v1::Experiment> ReadExperiment(const std::string& path,
                                              const std::vector<std::string>& overrides);

// Whether the file is about circuit protocols: it has the key `protocol`. NotFound and the like if
// it cannot be read.
absl::StatusOr<bool> IsCircuitExperiment(const std::string& path);
// As ReadExperiment.
absl::StatusOr<v1::CircuitExperiment> ReadCircuitExperiment(
    const std::string& path, const std::vector<std::string>& overrides);

// The effective configuration as a file that reads back to the same message.
std::string WriteExperiment(const google::protobuf::Message& experiment);

}  // namespace bfly::control
