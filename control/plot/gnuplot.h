// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace bfly::control {

// Runs gnuplot on a script of `folder`, in the folder. FailedPrecondition: there is no gnuplot.
// Internal: gnuplot failed, and its output is in SCRIPT.log. Cancelled: `interrupted`, which is
// called many times a second, returned true, and gnuplot was ended.
absl::Status RunGnuplot(const std::string& folder, const std::string& script,
                        const std::function<bool()>& interrupted);

}  // namespace bfly::control
