// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/circuits/circuit_comparison.h"
#include "control/measure/circuits/circuit_fits.h"
#include "control/measure/circuits/circuit_point.h"
#include "control/measure/core/figure_rows.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

struct SetUpSeconds {
  double median = 0;
  double least = 0;
  double most = 0;
};

SetUpSeconds SecondsOf(const Measurement& measurement) {
  std::vector<double> seconds;
  for (const Trial& trial : measurement.trials) seconds.push_back(trial.set_up_seconds);
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  const size_t middle = seconds.size() / 2;
  const double below = seconds[seconds.size() % 2 == 0 ? middle - 1 : middle];
  return {(below + seconds[middle]) / 2, seconds.front(), seconds.back()};
}

}  // namespace

std::string CircuitComparisonTable(const Report& report) {
  const std::vector<SeedComparison> comparisons = CompareBySeed(report.series);
  if (comparisons.empty()) return "";
  std::string table =
      absl::StrFormat("%-64s %3s %6s %6s %6s %16s\n", "on the same seed (measured, no claim)", "d",
                      "less", "equal", "more", "less by +-95%");
  for (const SeedComparison& c : comparisons) {
    const double half = c.difference.HalfWidth(0.95);
    absl::StrAppendFormat(&table, "%-64s %3d %6d %6d %6d %8.3g%s\n",
                          absl::StrCat(c.figure, ": ", c.first, " against ", c.second), c.d, c.less,
                          c.equal, c.more, c.difference.mean,
                          std::isfinite(half) ? absl::StrFormat(" +- %.2g", half) : "");
  }
  return table;
}

Json CircuitComparisonsJson(const Report& report) {
  Json comparisons = Json::array();
  for (const SeedComparison& c : CompareBySeed(report.series)) {
    comparisons.push_back(Json{{"figure", c.figure},
                               {"first", c.first},
                               {"second", c.second},
                               {"d", c.d},
                               {"less", c.less},
                               {"equal", c.equal},
                               {"more", c.more},
                               {"mean_difference", RoundedNumber(c.difference.mean)},
                               {"ci95", RoundedNumber(c.difference.HalfWidth(0.95))}});
  }
  return comparisons;
}

Json CircuitFitsJson(const Report& report) {
  Json fits = Json::array();
  for (const CurveFit& curve : FitCurves(report.series)) {
    for (const GrowthFit& fit : curve.fits) {
      fits.push_back(Json{{"curve", curve.curve},
                          {"figure", curve.figure},
                          {"shape", fit.shape},
                          {"intercept", fit.intercept},
                          {"slope", fit.slope},
                          {"r_squared", RoundedNumber(fit.r_squared)},
                          {"sizes", fit.sizes},
                          {"stated", fit.shape == curve.stated}});
    }
  }
  return fits;
}

std::string CircuitSecondsCsv(const std::string& columns, const Report& report) {
  std::string csv = columns + ",median_seconds,min_seconds,max_seconds,trials\n";
  for (const Measurement& m : report.series) {
    const SetUpSeconds s = SecondsOf(m);
    absl::StrAppendFormat(&csv, "%s,%.6f,%.6f,%.6f,%d\n", m.point.csv(), s.median, s.least, s.most,
                          m.trials.size());
  }
  return csv;
}

std::string CircuitSecondsTable(const Report& report) {
  std::vector<std::string> curves;
  std::set<int> sizes;
  std::map<std::pair<std::string, int>, double> medians;
  for (const Measurement& m : report.series) {
    const std::string curve = m.point.Curve();
    if (std::find(curves.begin(), curves.end(), curve) == curves.end()) curves.push_back(curve);
    sizes.insert(m.point.d());
    medians[{curve, m.point.d()}] = SecondsOf(m).median;
  }
  std::string table = absl::StrFormat("%-32s", "seconds to choose all paths*  d:");
  for (const int d : sizes) absl::StrAppendFormat(&table, " %9d", d);
  for (const std::string& curve : curves) {
    absl::StrAppendFormat(&table, "\n%-32s", curve);
    for (const int d : sizes) {
      const auto median = medians.find({curve, d});
      absl::StrAppend(&table, median == medians.end() ? std::string(10, ' ')
                                                      : absl::StrFormat(" %9.3g", median->second));
    }
  }
  return absl::StrCat(table,
                      "\n* medians, measured on this machine with what else it did; no claim\n");
}

std::string CircuitFitTable(const Report& report) {
  const std::vector<CurveFit> fits = FitCurves(report.series);
  if (fits.empty()) return "";
  std::string table =
      absl::StrFormat("%-32s %-16s %-31s %10s %10s %8s %6s\n", "growth of", "figure",
                      "shape (*: stated by theory)", "intercept", "slope", "R^2", "sizes");
  for (const CurveFit& curve : fits) {
    for (const GrowthFit& fit : curve.fits) {
      const bool stated = fit.shape == curve.stated;
      absl::StrAppendFormat(&table, "%-32s %-16s %-31s %10.4g %10.4g %8.4f %6d%s\n", curve.curve,
                            curve.figure, absl::StrCat(fit.shape, stated ? " *" : ""),
                            fit.intercept, fit.slope, fit.r_squared, fit.sizes,
                            stated ? absl::StrCat("  ", curve.source) : "");
    }
  }
  return table;
}

}  // namespace bfly::control
