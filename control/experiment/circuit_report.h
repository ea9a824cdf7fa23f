// SPDX-License-Identifier: Apache-2.0
// What a measurement of circuit protocols leaves in its folder: results.json, results.csv,
// claims.txt, fits.txt and a plot of each figure that grows.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "control/experiment/circuit_measure.h"

namespace bfly::control {

// {name, complete, claims, series, fits}. `series` has for each point and figure mean, ci95, min,
// max and, for whole-numbered figures of requests, `tail`: [{at_least, trials, probability,
// upper95}], where upper95 is the Clopper-Pearson bound on the probability.
std::string CircuitResultsJson(const CircuitReport& report);
std::string CircuitResultsCsv(const CircuitReport& report);
// One claim a line, failures first; without `all` those that do not apply are left out.
std::string CircuitClaimTable(const CircuitReport& report, bool all = true);
std::string CircuitFitTable(const CircuitReport& report);

// Writes all of it. The status names the file that could not be written.
absl::Status WriteCircuitReport(const CircuitReport& report, const std::string& folder);

}  // namespace bfly::control
