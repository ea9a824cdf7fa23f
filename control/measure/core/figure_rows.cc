// SPDX-License-Identifier: Apache-2.0
#include "control/measure/core/figure_rows.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/core/json_number.h"
#include "control/measure/core/statistics.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

// The figures that at least one trial measured.
std::set<std::string> FiguresOf(const Measurement& m) {
  std::set<std::string> names;
  for (const Trial& trial : m.trials) {
    for (const auto& [name, value] : trial.figures) {
      if (!std::isnan(value)) names.insert(name);
    }
  }
  return names;
}

// P(figure >= k) for each observed value k but the smallest.
Json TailOf(const std::vector<double>& values) {
  const std::set<double> seen(values.begin(), values.end());
  Json tail = Json::array();
  for (const double k : seen) {
    if (k == *seen.begin()) continue;
    const auto trials = static_cast<double>(values.size());
    const auto hits = std::count_if(values.begin(), values.end(), [&](double v) { return v >= k; });
    const auto [low, high] = ProbabilityInterval(trials, static_cast<double>(hits), 0.025);
    tail.push_back(Json{{"at_least", k},
                        {"trials", hits},
                        {"probability", hits / trials},
                        {"low95", RoundedNumber(low)},
                        {"high95", RoundedNumber(high)}});
  }
  return tail;
}

Json FigureJson(const Measurement& m, const std::string& name, bool counted) {
  const std::vector<double> values = m.Measured(name);
  const Estimate estimate = EstimateMean(values);
  Json json{{"mean", RoundedNumber(estimate.mean)},
            {"ci95", RoundedNumber(estimate.HalfWidth(0.95))},
            {"min", *std::min_element(values.begin(), values.end())},
            {"max", *std::max_element(values.begin(), values.end())}};
  if (values.size() < m.trials.size()) json["trials"] = values.size();
  if (counted) json["tail"] = TailOf(values);
  return json;
}

}  // namespace

Json RoundedNumber(double value) {
  double rounded = value;
  (void)absl::SimpleAtod(absl::StrFormat("%.12g", value), &rounded);
  return JsonNumber(rounded);
}

Json FigureSeries(const std::vector<Measurement>& series, const std::set<std::string>& counted) {
  Json rows = Json::array();
  for (const Measurement& m : series) {
    Json row{{"point", m.point.json()}, {"trials", m.trials.size()}};
    for (const std::string& name : FiguresOf(m)) {
      row[name] = FigureJson(m, name, counted.contains(name));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string FigureCsv(const std::string& columns, const std::vector<Measurement>& series) {
  std::string csv = columns + ",figure,mean,ci95,min,max,trials\n";
  for (const Measurement& m : series) {
    for (const std::string& name : FiguresOf(m)) {
      const std::vector<double> values = m.Measured(name);
      const Estimate estimate = EstimateMean(values);
      const double half = estimate.HalfWidth(0.95);
      absl::StrAppendFormat(&csv, "%s,%s,%.9g,%s,%.9g,%.9g,%d\n", m.point.csv(), name,
                            estimate.mean, std::isfinite(half) ? absl::StrFormat("%.9g", half) : "",
                            *std::min_element(values.begin(), values.end()),
                            *std::max_element(values.begin(), values.end()), values.size());
    }
  }
  return csv;
}

}  // namespace bfly::control
