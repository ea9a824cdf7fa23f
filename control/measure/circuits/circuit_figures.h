// SPDX-License-Identifier: Apache-2.0
// The figures of a measurement of circuit protocols, from the contents of its results.json.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/circuit_experiment.pb.h"
#include "control/plot/figure.h"

namespace bfly::control {

// "congestion", "disk_contention", "rounds", "steps" and "locked" over log n, as far as they were
// measured. There is a panel for each permutation if there are several, or for each protocol if the
// capacity q of links is swept, and a curve for each protocol and setting.
absl::StatusOr<std::vector<Figure>> CircuitFigures(const v1::CircuitExperiment& experiment,
                                                   const nlohmann::ordered_json& results);

}  // namespace bfly::control
