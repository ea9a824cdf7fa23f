// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"

namespace bfly::control {

// Runs gnuplot on a script of `folder`, in the folder. FailedPrecondition if there is no gnuplot.
// Internal if it failed; what it said is then in SCRIPT.log. Cancelled, with gnuplot ended, when
// `interrupted` says yes: it is asked many times a second.
absl::Status RunGnuplot(const std::string& folder, const std::string& script,
                        const std::function<bool()>& interrupted);

}  // namespace bfly::control
