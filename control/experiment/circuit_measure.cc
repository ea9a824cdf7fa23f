// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/circuit_measure.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "control/experiment/claim_rows.h"
#include "control/experiment/statistics.h"

namespace bfly::control {
namespace {

constexpr const char* kGrowing[] = {"congestion", "disk_contention", "rounds", "steps"};

std::string CurveOf(CircuitPoint point, const v1::CircuitExperiment& experiment) {
  if (!GivesThreshold(experiment)) point.c = 0;
  return point.Curve();
}

// Their rounds and steps are those of n requests, one after the other: 2 dilation each.
bool TakesRequestsOneByOne(const CircuitPoint& point) {
  return point.protocol == "minimum" || point.protocol == "data_server_minimum";
}
bool IsSetUpTime(const std::string& figure) { return figure == "rounds" || figure == "steps"; }

std::vector<CurveFit> FitCurves(const CircuitReport& report) {
  std::vector<CurveFit> fits;
  for (const char* figure : kGrowing) {
    std::vector<std::string> order;
    std::map<std::string, std::pair<std::vector<int>, std::vector<double>>> curves;
    for (const CircuitMeasurement& m : report.series) {
      if (TakesRequestsOneByOne(m.point) && IsSetUpTime(figure)) continue;
      const std::vector<double> values = m.Values(figure);
      const bool measured =
          std::none_of(values.begin(), values.end(), [](double v) { return std::isnan(v); });
      if (values.empty() || !measured) continue;
      const std::string name = CurveOf(m.point, report.experiment);
      auto [curve, is_new] = curves.try_emplace(name);
      if (is_new) order.push_back(name);
      curve->second.first.push_back(m.point.d);
      curve->second.second.push_back(EstimateMean(values).mean);
    }
    for (const std::string& name : order) {
      std::vector<GrowthFit> found = FitGrowth(curves[name].first, curves[name].second);
      if (!found.empty()) fits.push_back({name, figure, std::move(found)});
    }
  }
  return fits;
}

}  // namespace

int CircuitReport::Count(Verdict verdict) const { return CountVerdicts(claims, verdict); }

absl::StatusOr<CircuitReport> MeasureCircuits(
    const v1::CircuitExperiment& experiment, Journal& journal,
    const std::function<bool(const CircuitProgress&)>& on_progress) {
  const absl::StatusOr<std::vector<CircuitPoint>> points = CircuitPointsOf(experiment);
  if (!points.ok()) return points.status();
  const auto claims = CircuitClaimsNamed({experiment.claims().begin(), experiment.claims().end()});
  if (!claims.ok()) return claims.status();

  CircuitReport report;
  report.experiment = experiment;
  report.complete = true;
  CircuitProgress progress;
  progress.total = TrialsOf(experiment, *points);
  for (size_t i = 0; i < points->size() && report.complete; ++i) {
    CircuitMeasurement measurement{.point = (*points)[i], .trials = {}};
    progress.point = measurement.point.ToString();
    for (const uint64_t seed : SeedsAt(experiment, measurement.point.d)) {
      progress.seed = seed;
      if (!on_progress(progress)) {
        report.complete = false;
        break;
      }
      if (const Trial* known = journal.Find(i, seed)) {
        measurement.trials.push_back(*known);
      } else {
        absl::StatusOr<Trial> trial = RunCircuitTrial(measurement.point, seed);
        if (!trial.ok()) return trial.status();
        if (absl::Status status = journal.Add(i, *trial); !status.ok()) return status;
        measurement.trials.push_back(*std::move(trial));
      }
      ++progress.done;
    }
    if (!report.complete) break;
    for (const CircuitClaim* claim : *claims) report.claims.push_back(Check(*claim, measurement));
    report.series.push_back(std::move(measurement));
  }
  SayOnceWhatAppliesNowhere(report.claims);
  report.fits = FitCurves(report);
  return report;
}

}  // namespace bfly::control
