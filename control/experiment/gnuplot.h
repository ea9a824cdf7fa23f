// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "absl/status/status.h"

namespace bfly::control {

// Writes folder/name.gp, which is `script` and then the plot command `plots` once for each of
// name.svg and name.png, and runs gnuplot on it. FailedPrecondition if there is no gnuplot.
absl::Status DrawPlot(std::string script, const std::string& plots, const std::string& folder,
                      const std::string& name);

}  // namespace bfly::control
