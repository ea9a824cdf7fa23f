// SPDX-License-Identifier: Apache-2.0
// `bfly bench ports` without --closed: measures, and prints the report.
#pragma once

#include "absl/status/status.h"
#include "control/cli/verb.h"
#include "dataplane/bench/port_bench.h"

namespace bfly::control {

// FailedPrecondition: a device under test was not the bottleneck, so the report tells no ratio for
// it.
absl::Status BenchLoaded(const dataplane::PortBenchOptions& options, const Common& common);

}  // namespace bfly::control
