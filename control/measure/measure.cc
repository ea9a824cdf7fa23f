// SPDX-License-Identifier: Apache-2.0
#include "control/measure/measure.h"

#include <utility>
#include <vector>

#include "control/measure/claim_rows.h"
#include "control/measure/lateness.h"
#include "control/measure/packet_claims.h"
#include "control/measure/wall_trial.h"

namespace bfly::control {
namespace {

Report Finished(Report report) {
  report.family = Decide(report.claims);
  for (ClaimResult& claim : report.claims) claim.trials = report.experiment.seeds_size();
  WithholdLateVerdicts(report.series, report.experiment.unit_us(), report.claims);
  SayOnceWhatAppliesNowhere(report.claims);
  return report;
}

}  // namespace

absl::StatusOr<Report> Measure(const v1::Experiment& experiment, Journal& journal,
                               const std::function<bool(const Progress&)>& on_progress) {
  const absl::StatusOr<std::vector<PacketPoint>> points = PointsOf(experiment);
  if (!points.ok()) return points.status();
  const auto claims =
      ClaimsNamed(PacketClaims(), {experiment.claims().begin(), experiment.claims().end()});
  if (!claims.ok()) return claims.status();

  Report report;
  report.experiment = experiment;
  Progress progress;
  progress.total = points->size() * experiment.seeds_size();
  for (size_t i = 0; i < points->size(); ++i) {
    const PacketPoint& point = (*points)[i];
    Measurement measurement{.point = point, .trials = {}};
    for (const uint64_t seed : experiment.seeds()) {
      progress.point = measurement.point.ToString();
      progress.seed = seed;
      if (!on_progress(progress)) return Finished(std::move(report));
      if (const Trial* known = journal.Find(i, seed)) {
        measurement.trials.push_back(*known);
      } else {
        absl::StatusOr<Trial> trial =
            experiment.clock() == v1::Experiment::WALL
                ? RunWallTrial(experiment, point, seed, [&] { return !on_progress(progress); })
                : RunTrial(experiment, point, seed);
        if (absl::IsCancelled(trial.status())) return Finished(std::move(report));
        if (!trial.ok()) return trial.status();
        if (absl::Status status = journal.Add(i, *trial); !status.ok()) return status;
        measurement.trials.push_back(*std::move(trial));
      }
      ++progress.done;
    }
    measurement.saturated = IsSaturated(measurement);
    for (const Claim* claim : *claims) report.claims.push_back(Examine(*claim, measurement));
    report.series.push_back(std::move(measurement));
  }
  report.complete = true;
  return Finished(std::move(report));
}

}  // namespace bfly::control
