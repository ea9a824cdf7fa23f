// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuit_measure.h"

#include <set>
#include <utility>

#include "control/measure/claim_rows.h"

namespace bfly::control {
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
  std::set<std::string> about_something;
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
    for (const CircuitClaim* claim : *claims) {
      if (!claim->about(measurement.point).empty()) continue;
      about_something.insert(claim->id);
      report.claims.push_back(Examine(*claim, measurement));
    }
    report.series.push_back(std::move(measurement));
  }
  for (const CircuitClaim* claim : *claims) {
    if (!about_something.contains(claim->id)) report.claims_elsewhere.push_back(claim->id);
  }
  report.family = Decide(report.claims);
  const bool gives_c = GivesThreshold(experiment);
  report.fits = FitCurves(report.series, gives_c);
  report.comparisons = CompareBySeed(report.series, gives_c);
  return report;
}

}  // namespace bfly::control
