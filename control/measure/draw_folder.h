// SPDX-License-Identifier: Apache-2.0
// Draws the pictures of a results folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::control {

// Reads experiment.yaml and results.json of `folder` and draws every figure of the measurement: a
// gnuplot script, and what it writes. When all are drawn, a measurement that ran all its trials
// becomes "complete" in results.json. Returns the names of the scripts.
//
// `interrupted` is asked many times a second; Cancelled if it says yes.
// FailedPrecondition if there is no gnuplot; NotFound or DataLoss if the folder does not hold a
// measurement. Other statuses say which file could not be written.
absl::StatusOr<std::vector<std::string>> DrawFolder(const std::string& folder,
                                                    const std::function<bool()>& interrupted);

}  // namespace bfly::control
