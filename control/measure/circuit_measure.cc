// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuit_measure.h"

#include <set>
#include <utility>

#include "control/measure/circuit_claims.h"
#include "control/measure/claim_rows.h"

namespace bfly::control {
int CircuitReport::Count(Verdict verdict) const { return CountVerdicts(claims, verdict); }

absl::StatusOr<CircuitReport> MeasureCircuits(
    const v1::CircuitExperiment& experiment, Journal& journal,
    const std::function<bool(const CircuitProgress&)>& on_progress) {
  const absl::StatusOr<std::vector<CircuitPoint>> points = CircuitPointsOf(experiment);
  if (!points.ok()) return points.status();
  const auto claims =
      ClaimsNamed(CircuitClaims(), {experiment.claims().begin(), experiment.claims().end()});
  if (!claims.ok()) return claims.status();

  CircuitReport report;
  report.experiment = experiment;
  report.complete = true;
  std::set<std::string> about_something;
  CircuitProgress progress;
  progress.total = TrialsOf(experiment, *points);
  for (size_t i = 0; i < points->size() && report.complete; ++i) {
    const CircuitPoint& point = (*points)[i];
    Measurement measurement{.point = point, .trials = {}};
    progress.point = measurement.point.ToString();
    for (const uint64_t seed : SeedsAt(experiment, point.d)) {
      progress.seed = seed;
      if (!on_progress(progress)) {
        report.complete = false;
        break;
      }
      if (const Trial* known = journal.Find(i, seed)) {
        measurement.trials.push_back(*known);
      } else {
        absl::StatusOr<Trial> trial = RunCircuitTrial(point, seed);
        if (!trial.ok()) return trial.status();
        if (absl::Status status = journal.Add(i, *trial); !status.ok()) return status;
        measurement.trials.push_back(*std::move(trial));
      }
      ++progress.done;
    }
    if (!report.complete) break;
    for (const Claim* claim : *claims) {
      if (!claim->about(measurement.point).empty()) continue;
      about_something.insert(claim->id);
      report.claims.push_back(Examine(*claim, measurement));
    }
    report.series.push_back(std::move(measurement));
  }
  for (const Claim* claim : *claims) {
    if (!about_something.contains(claim->id)) report.claims_elsewhere.push_back(claim->id);
  }
  report.family = Decide(report.claims);
  report.fits = FitCurves(report.series);
  report.comparisons = CompareBySeed(report.series);
  return report;
}

}  // namespace bfly::control
