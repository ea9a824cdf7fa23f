// SPDX-License-Identifier: Apache-2.0
// The figures of trials as rows: of results.json, and of results.csv.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "control/measure/core/measurement.h"

namespace bfly::control {

// [{point, trials, and for each figure that was measured: mean, ci95, min, max}]. Figures that are
// `counted`, whole numbers, also have `tail`: for each value that was seen but the smallest
// {at_least, trials, probability, low95, high95}, the Clopper-Pearson interval.
nlohmann::ordered_json FigureSeries(const std::vector<Measurement>& series,
                                    const std::set<std::string>& counted);

// A line for each point and figure. `columns`: the names of what Point::csv has.
std::string FigureCsv(const std::string& columns, const std::vector<Measurement>& series);

// To twelve digits: the mean of equal whole numbers is that number.
nlohmann::ordered_json RoundedNumber(double value);

}  // namespace bfly::control
