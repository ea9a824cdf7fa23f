// SPDX-License-Identifier: Apache-2.0
// The tables and files that a measurement of circuit protocols leaves.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "control/measure/core/report.h"

namespace bfly::control {

// Two protocols on the same seeds (circuit_comparison.h).
std::string CircuitComparisonTable(const Report& report);
nlohmann::ordered_json CircuitComparisonsJson(const Report& report);
// How figures grow (circuit_fits.h).
std::string CircuitFitTable(const Report& report);
nlohmann::ordered_json CircuitFitsJson(const Report& report);
// The seconds that this machine took to choose the paths of all requests: median, smallest and
// largest of the trials. They differ from run to run, so they have a file of their own, and no
// claim reads them. `columns` names the columns of Point::csv.
std::string CircuitSecondsCsv(const std::string& columns, const Report& report);
std::string CircuitSecondsTable(const Report& report);

}  // namespace bfly::control
