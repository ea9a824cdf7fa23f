// SPDX-License-Identifier: Apache-2.0
// Draws the pictures of a results folder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bfly::control {

// Reads experiment.yaml and results.json of `folder` and draws every figure of the measurement,
// each as a gnuplot script and the picture that the script writes. When all figures are drawn, a
// measurement that ran all its trials becomes "complete" in results.json. Returns the names of the
// scripts.
//
// Calls `interrupted` many times a second and returns Cancelled if it says yes. FailedPrecondition:
// there is no gnuplot. NotFound or DataLoss: the folder does not hold a measurement. Other statuses
// name the file that could not be written.
absl::StatusOr<std::vector<std::string>> DrawFolder(const std::string& folder,
                                                    const std::function<bool()>& interrupted);

}  // namespace bfly::control
