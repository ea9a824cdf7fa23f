// SPDX-License-Identifier: Apache-2.0
// What a measurement of circuit protocols leaves in its folder: results.json, results.csv,
// claims.txt, tails.txt, comparisons.txt, fits.txt, set_up_seconds.csv.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "control/measure/circuit_measure.h"

namespace bfly::control {

struct SetUpSeconds {
  double median = 0;
  double least = 0;
  double most = 0;
};
SetUpSeconds SecondsOf(const Measurement& measurement);

// {name, measured, complete, verdicts, claims, claims_elsewhere, comparisons, series, fits}.
// `series` has for each point and figure mean, ci95, min, max and, for whole-numbered figures of
// requests, `tail`:
// [{at_least, trials, probability, low95, high95}], the Clopper-Pearson interval.
std::string CircuitResultsJson(const CircuitReport& report);
std::string CircuitResultsCsv(const CircuitReport& report);
// One line for a claim and a curve, failures first, with the point where the claim holds by the
// least; without `all` those that do not apply are left out.
std::string CircuitClaimTable(const CircuitReport& report, bool all = true);
// Claims about probabilities, point by point, also where the bound says nothing.
std::string CircuitTailTable(const CircuitReport& report);
std::string CircuitComparisonTable(const CircuitReport& report);
std::string CircuitFitTable(const CircuitReport& report);
// Seconds that this machine took to choose the paths of all requests: median, smallest and largest
// of the trials. They differ from run to run, so they are in a file of their own and in no claim.
std::string CircuitSecondsCsv(const CircuitReport& report);
std::string CircuitSecondsTable(const CircuitReport& report);

// Writes all of it. The status names the file that could not be written.
absl::Status WriteCircuitReport(const CircuitReport& report, const std::string& folder);

}  // namespace bfly::control
