// SPDX-License-Identifier: Apache-2.0
#include "control/measure/measure.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/measure/core/claim_rows.h"
#include "control/measure/trials_at_once.h"

namespace bfly::control {
namespace {

// Runs all trials of one point. Returns the error of a trial that failed, or Cancelled if the run
// ends here.
absl::StatusOr<Measurement> MeasurePoint(const Experiment& experiment, const Point& point,
                                         size_t number, Journal& journal, Progress& progress,
                                         const std::function<bool(const Progress&)>& on_progress) {
  Measurement measurement{.point = point, .trials = {}};
  progress.point = point.ToString();
  for (const uint64_t seed : experiment.SeedsAt(point)) {
    progress.seed = seed;
    if (const Trial* known = journal.Find(number, seed)) {
      measurement.trials.push_back(*known);
    } else {
      if (!on_progress(progress)) return absl::CancelledError("between two trials");
      absl::StatusOr<Trial> trial =
          experiment.Run(point, seed, [&] { return !on_progress(progress); });
      if (!trial.ok()) return trial.status();
      if (absl::Status status = journal.Add(number, *trial); !status.ok()) return status;
      measurement.trials.push_back(*std::move(trial));
    }
    ++progress.done;
  }
  measurement.saturated = experiment.IsSaturated(measurement);
  return measurement;
}

bool IsAbout(const Claim& claim, const Point& point) {
  return claim.about == nullptr || claim.about(point).empty();
}

}  // namespace

absl::StatusOr<Report> Measure(const Experiment& experiment, Journal& journal,
                               const std::function<bool(const Progress&)>& on_progress,
                               int at_once) {
  const absl::StatusOr<std::vector<Point>> points = experiment.Sweep();
  if (!points.ok()) return points.status();
  const auto claims = ClaimsNamed(experiment.Claims(), experiment.named_claims());
  if (!claims.ok()) return claims.status();

  Report report;
  Progress progress{.total = experiment.TrialsOf(*points)};
  bool go_on = true;
  if (at_once > 1) {
    const absl::Status status =
        RunTrialsAtOnce(experiment, *points, at_once, journal, progress, on_progress);
    if (!status.ok() && !absl::IsCancelled(status)) return status;
    go_on = status.ok();
  }
  const auto ask = [&](const Progress& now) { return go_on && on_progress(now); };
  while (report.series.size() < points->size()) {
    const size_t number = report.series.size();
    absl::StatusOr<Measurement> measurement =
        MeasurePoint(experiment, (*points)[number], number, journal, progress, ask);
    if (absl::IsCancelled(measurement.status())) break;
    if (!measurement.ok()) return measurement.status();
    for (const Claim* claim : *claims) {
      if (IsAbout(*claim, measurement->point)) {
        report.claims.push_back(Examine(*claim, *measurement));
      }
    }
    report.series.push_back(*std::move(measurement));
  }
  report.complete = report.series.size() == points->size();
  for (const Claim* claim : *claims) {
    const bool somewhere =
        std::any_of(report.claims.begin(), report.claims.end(),
                    [&](const ClaimResult& result) { return result.id == claim->id; });
    if (!somewhere) report.claims_elsewhere.push_back(claim->id);
  }
  report.family = Decide(report.claims);
  experiment.Conclude(report);
  return report;
}

std::string ResultsJson(const Experiment& experiment, const Report& report) {
  nlohmann::ordered_json results{{"name", experiment.name()},
                                 {"measured", report.complete},
                                 {"complete", false},
                                 {"verdicts", VerdictsJson(report.claims)},
                                 {"family", FamilyJson(report.family)},
                                 {"claims", ClaimsJson(report.claims)}};
  experiment.AddResults(report, results);
  return results.dump(2) + "\n";
}

absl::Status WriteReport(const Experiment& experiment, const Report& report,
                         const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> files = {
      {"results.json", ResultsJson(experiment, report)}};
  for (auto& file : experiment.Files(report)) files.push_back(std::move(file));
  for (const auto& [name, text] : files) {
    if (absl::Status status = WriteFile(absl::StrCat(folder, "/", name), text); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
