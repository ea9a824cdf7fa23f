// SPDX-License-Identifier: Apache-2.0
// The figures of a measurement of packets, from the contents of its results.json.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/experiment.pb.h"
#include "control/plot/figure.h"

namespace bfly::control {

// "delay": the mean delay over the load. There is a panel for each size and each p or pattern, and
// a curve for each length of slot and each discipline. Claims of the experiment that bound the
// delay or give it exactly are also evaluated between the measured loads. DataLoss: `results` are
// not those of the experiment.
absl::StatusOr<std::vector<Figure>> DelayFigures(const v1::Experiment& experiment,
                                                 const nlohmann::ordered_json& results);

}  // namespace bfly::control
