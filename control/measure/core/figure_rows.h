// SPDX-License-Identifier: Apache-2.0
// The figures of trials as rows of results.json and of results.csv.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "control/measure/core/measurement.h"

namespace bfly::control {

// Returns [{point, trials, and for each measured figure: mean, ci95, min, max}]. A figure is over
// the trials that measured it; if these are not all, it has their number as `trials`. Figures that
// are `counted`, which are whole numbers, also have `tail`: for each observed value but the
// smallest {at_least, trials, probability, low95, high95}, with the Clopper-Pearson interval.
nlohmann::ordered_json FigureSeries(const std::vector<Measurement>& series,
                                    const std::set<std::string>& counted);

// Writes a line for each point and figure, with the number of trials that measured it. `columns`
// names the columns of Point::csv.
std::string FigureCsv(const std::string& columns, const std::vector<Measurement>& series);

// Rounds to twelve digits, so that the mean of equal whole numbers is that number.
nlohmann::ordered_json RoundedNumber(double value);

}  // namespace bfly::control
