// SPDX-License-Identifier: Apache-2.0
// `bfly bench ports --closed`: measures, and prints the report.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "control/cli/verb.h"
#include "dataplane/bench/closed_bench.h"

namespace bfly::control {

// Measures and reports each number of stages. `placement` is the word on the command line. JSON is
// an object, or an array of objects for several numbers. Beside the errors of the bench,
// FAILED_PRECONDITION where a ratio would mean nothing (CheckPace); the reports are printed then
// too.
absl::Status BenchClosed(dataplane::ClosedBenchOptions options, const std::vector<int>& stages,
                         const std::string& placement, const Common& common);

}  // namespace bfly::control
