// SPDX-License-Identifier: Apache-2.0
// The figures of a measurement of packets, from what is in its results.json.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "control/plot/figure.h"

namespace bfly::control {

// "delay": the mean delay over the load. A panel for each size and each p or pattern, a curve for
// each length of slot and each discipline; the claims of the experiment that bound the delay or
// give it exactly are evaluated between the measured loads too. DataLoss if `results` are not those
// of the experiment.
absl::StatusOr<std::vector<Figure>> DelayFigures(const v1::Experiment& experiment,
                                                 const nlohmann::ordered_json& results);

}  // namespace bfly::control
