// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/step_fits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/core/figure_rows.h"

namespace bfly::control {
namespace {

using FitJson = nlohmann::ordered_json;

// The sizes and means of one curve.
struct SizedMeans {
  Point point;
  std::vector<int> d;
  std::vector<double> means;
};

std::vector<SizedMeans> CurvesWith(const Report& report, const std::string& figure) {
  std::vector<SizedMeans> curves;
  for (const Measurement& m : report.series) {
    const std::vector<double> values = m.Measured(figure);
    if (values.empty()) continue;
    auto at = std::find_if(curves.begin(), curves.end(), [&](const SizedMeans& known) {
      return known.point.Curve() == m.point.Curve();
    });
    if (at == curves.end()) at = curves.insert(at, SizedMeans{m.point, {}, {}});
    at->d.push_back(m.point.d());
    at->means.push_back(EstimateMean(values).mean);
  }
  return curves;
}

}  // namespace

std::vector<StepFit> FitStepCurves(const Report& report) {
  std::vector<StepFit> fits;
  for (const StepProgram& program : StepPrograms()) {
    for (const StepFigure& figure : program.figures) {
      if (figure.over != "d") continue;
      for (const SizedMeans& curve : CurvesWith(report, figure.name)) {
        const StepPoint& point = curve.point;
        if (point.program != program.name) continue;
        StepFit fit{.curve = curve.point.Curve(),
                    .figure = figure,
                    .fits = FitGrowth(GrowthShapes(), curve.d, curve.means)};
        if (!fit.fits.empty()) fits.push_back(std::move(fit));
      }
    }
  }
  return fits;
}

FitJson StepFitsJson(const Report& report) {
  FitJson json = FitJson::array();
  for (const StepFit& curve : FitStepCurves(report)) {
    for (const GrowthFit& fit : curve.fits) {
      json.push_back(FitJson{{"curve", curve.curve},
                             {"figure", curve.figure.name},
                             {"shape", fit.shape},
                             {"intercept", RoundedNumber(fit.intercept)},
                             {"slope", RoundedNumber(fit.slope)},
                             {"r_squared", RoundedNumber(fit.r_squared)},
                             {"sizes", fit.sizes},
                             {"stated", fit.shape == curve.figure.shape}});
    }
  }
  return json;
}

std::string StepFitTable(const Report& report) {
  const std::vector<StepFit> fits = FitStepCurves(report);
  if (fits.empty()) return "";
  int width = 32;
  for (const StepFit& fit : fits) width = std::max(width, static_cast<int>(fit.curve.size()));
  std::string table =
      absl::StrFormat("%-*s %-18s %-27s %10s %10s %8s %6s\n", width, "growth of", "figure",
                      "shape (*: stated by theory)", "intercept", "slope", "R^2", "sizes");
  for (const StepFit& curve : fits) {
    for (const GrowthFit& fit : curve.fits) {
      const bool stated = fit.shape == curve.figure.shape;
      absl::StrAppendFormat(
          &table, "%-*s %-18s %-27s %10.4g %10.4g %8.4f %6d%s\n", width, curve.curve,
          curve.figure.name, absl::StrCat(fit.shape, stated ? " *" : ""), fit.intercept, fit.slope,
          fit.r_squared, fit.sizes, stated ? absl::StrCat("  ", curve.figure.source) : "");
    }
  }
  return table;
}

}  // namespace bfly::control
