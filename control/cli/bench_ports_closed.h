// SPDX-License-Identifier: Apache-2.0
// `bfly bench ports --closed`: measures, and prints the report.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "control/cli/verb.h"
#include "dataplane/bench/closed_bench.h"

namespace bfly::control {

// `placement` is the word on the command line.
absl::Status BenchClosed(const dataplane::ClosedBenchOptions& options, const std::string& placement,
                         const Common& common);

}  // namespace bfly::control
