// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/reproduce.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/measure/core/journal.h"
#include "control/measure/draw_folder.h"
#include "control/measure/experiment_file.h"
#include "control/measure/trials_at_once.h"
#include "control/reproduce/html.h"
#include "control/reproduce/inline_svg.h"
#include "control/reproduce/progress.h"
#include "control/reproduce/run_folder.h"
#include "control/reproduce/seeds_text.h"

namespace bfly::control {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string SeedsText(const Experiment& experiment, const std::vector<Point>& points) {
  std::vector<uint64_t> most;
  bool differ = false;
  for (const Point& point : points) {
    std::vector<uint64_t> seeds = experiment.SeedsAt(point);
    differ |= !most.empty() && seeds.size() != most.size();
    if (seeds.size() > most.size()) most = std::move(seeds);
  }
  return absl::StrCat(SeedsInWords(most), differ ? ", fewer at some points" : "");
}

// What is known before the experiment runs.
absl::StatusOr<Outcome> OutcomeBefore(const PlannedExperiment& planned) {
  const Experiment& experiment = *planned.experiment;
  const absl::StatusOr<std::vector<Point>> points = experiment.Sweep();
  if (!points.ok()) return points.status();
  const auto claims = ClaimsNamed(experiment.Claims(), experiment.named_claims());
  if (!claims.ok()) return claims.status();
  Outcome outcome{.name = planned.name,
                  .title = experiment.title(),
                  .file = planned.file,
                  .paper = planned.paper,
                  .note = planned.note,
                  .settings = planned.settings,
                  .configuration = WriteExperiment(experiment),
                  .seeds = SeedsText(experiment, *points),
                  .points = points->size(),
                  .trials = experiment.TrialsOf(*points),
                  .claims = {}};
  for (const Claim* claim : *claims) {
    outcome.claims.push_back({claim->id, claim->statement, claim->source});
  }
  return outcome;
}

// Whether earlier results of an experiment are those of the same experiment.
absl::Status CheckUnchanged(const std::string& folder, const std::string& configuration) {
  const absl::StatusOr<std::string> before = ReadFile(folder + "/experiment.yaml");
  if (absl::IsNotFound(before.status()) || (before.ok() && *before == configuration)) {
    return absl::OkStatus();
  }
  if (!before.ok()) return before.status();
  return absl::AlreadyExistsError(
      absl::StrCat(folder, " was measured by another experiment file than the one of now (", folder,
                   "/experiment.yaml says which): remove that folder to measure it anew, or "
                   "choose another --out"));
}

// The part of the trials that the journal holds.
double PartDone(const Experiment& experiment, const Journal& journal) {
  const absl::StatusOr<std::vector<Point>> points = experiment.Sweep();
  size_t found = 0, all = 0;
  for (size_t i = 0; points.ok() && i < points->size(); ++i) {
    for (const uint64_t seed : experiment.SeedsAt((*points)[i])) {
      ++all;
      found += journal.Find(i, seed) != nullptr ? 1 : 0;
    }
  }
  return all == 0 ? 0 : static_cast<double>(found) / static_cast<double>(all);
}

class Run {
 public:
  Run(const ReproductionPlan& plan, bool quick, const Provenance& provenance,
      const std::function<bool(const ReproduceProgress&)>& on_progress, int at_once,
      RunFolder folder)
      : plan_(plan),
        quick_(quick),
        provenance_(provenance),
        on_progress_(on_progress),
        at_once_(at_once),
        folder_(std::move(folder)),
        left_(ExpectedSeconds(plan)) {}

  absl::StatusOr<std::vector<Outcome>> All() {
    for (const PlannedExperiment& planned : plan_.experiments) {
      absl::StatusOr<Outcome> outcome = OutcomeBefore(planned);
      if (!outcome.ok()) return outcome.status();
      const std::string results = folder_.ResultsOf(planned.name);
      if (absl::Status status = CheckUnchanged(results, outcome->configuration); !status.ok()) {
        return status;
      }
      outcomes_.push_back(*std::move(outcome));
    }
    for (size_t i = 0; i < outcomes_.size(); ++i) {
      const absl::Status status = One(i);
      if (absl::IsCancelled(status)) break;
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat(outcomes_[i].name, ": ", status.message()));
      }
      if (absl::Status written = WritePage(); !written.ok()) return written;
    }
    if (absl::Status written = WritePage(); !written.ok()) return written;
    return std::move(outcomes_);
  }

 private:
  static std::vector<double> ExpectedSeconds(const ReproductionPlan& plan) {
    std::vector<double> expected;
    for (const PlannedExperiment& planned : plan.experiments) expected.push_back(planned.seconds);
    return expected;
  }

  // Runs and draws what is missing of an experiment, and fills its outcome.
  absl::Status One(size_t number) {
    const auto start = Clock::now();
    Outcome& outcome = outcomes_[number];
    RunRecord record = folder_.Find(outcome.name);
    const std::string results = folder_.ResultsOf(outcome.name);
    record.finished = record.finished && IsComplete(results);
    const bool found = record.finished;
    const absl::Status status = Measured(number, results, start, record, outcome);
    if (!status.ok() && !absl::IsCancelled(status)) return status;
    if (!found) {
      record.finished = status.ok();
      record.seconds += SecondsSince(start);
      record.machine = provenance_.machine;
      if (absl::Status saved = folder_.Save(outcome.name, record); !saved.ok()) return saved;
    }
    if (!status.ok()) return status;
    left_.End(SecondsSince(start));
    outcome.seconds = record.seconds;
    outcome.machine = record.machine;
    outcome.finished = true;
    return absl::OkStatus();
  }

  absl::Status Measured(size_t number, const std::string& results, Clock::time_point start,
                        RunRecord& record, Outcome& outcome) {
    Experiment& experiment = *plan_.experiments[number].experiment;
    absl::StatusOr<Journal> journal = Journal::Continue(results, outcome.configuration);
    if (!journal.ok()) return journal.status();
    left_.Begin(PartDone(experiment, *journal));
    if (const auto note = experiment.Start(); !note.ok()) return note.status();
    ReproduceProgress progress{.number = number + 1,
                               .experiments = outcomes_.size(),
                               .name = outcome.name,
                               .trials = {.total = outcome.trials}};
    const auto go_on = [&] {
      const double done = static_cast<double>(progress.trials.done) /
                          static_cast<double>(std::max<size_t>(progress.trials.total, 1));
      progress.seconds_left = left_.Seconds(done, SecondsSince(start));
      return on_progress_(progress);
    };
    absl::StatusOr<Report> report = Measure(
        experiment, *journal,
        [&](const Progress& trials) {
          progress.trials = trials;
          return go_on();
        },
        TrialsAtOnce(experiment, at_once_));
    if (!report.ok()) return report.status();
    if (!report->complete) return absl::CancelledError("between two trials");
    if (!record.finished) {
      if (absl::Status status = WriteReport(experiment, *report, results); !status.ok()) {
        return status;
      }
      progress.trials.done = progress.trials.total;
      const auto drawn = DrawFolder(results, [&] { return !go_on(); });
      if (!drawn.ok()) return drawn.status();
      record.figures.clear();
      for (const std::string& script : *drawn) {
        record.figures.push_back(std::filesystem::path(script).stem().string());
      }
    }
    for (auto& [name, text] : experiment.Files(*report)) {
      if (absl::EndsWith(name, ".txt") && name != "claims.txt" && !text.empty()) {
        outcome.texts.emplace_back(name, std::move(text));
      }
    }
    outcome.results = std::move(report->claims);
    outcome.family = report->family;
    return Draw(results, record.figures, outcome);
  }

  absl::Status Draw(const std::string& results, const std::vector<std::string>& figures,
                    Outcome& outcome) {
    for (const std::string& figure : figures) {
      const std::string file = absl::StrCat(results, "/", figure, ".svg");
      const absl::StatusOr<std::string> svg = ReadFile(file);
      if (!svg.ok()) return svg.status();
      absl::StatusOr<std::string> drawing =
          InlineSvg(*svg, absl::StrCat("f", ++drawings_, "-"),
                    absl::StrCat("Figure ", figure, ": ", outcome.title));
      if (!drawing.ok()) {
        return absl::DataLossError(
            absl::StrCat(file, ": not a figure that bfly drew (", drawing.status().message(),
                         "); bfly measure --plot ", results, " draws it again"));
      }
      outcome.drawings.push_back({figure, *std::move(drawing)});
    }
    return absl::OkStatus();
  }

  absl::Status WritePage() const {
    const absl::StatusOr<std::string> html =
        PageHtml(MakePage(plan_.list, plan_.chosen, outcomes_, quick_, provenance_));
    if (!html.ok()) return html.status();
    return WriteFile(folder_.page(), *html);
  }

  const ReproductionPlan& plan_;
  const bool quick_;
  const Provenance& provenance_;
  const std::function<bool(const ReproduceProgress&)>& on_progress_;
  const int at_once_;
  RunFolder folder_;
  TimeLeft left_;
  std::vector<Outcome> outcomes_;
  int drawings_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<Outcome>> Reproduce(
    const ReproductionPlan& plan, const std::string& out, bool quick, const Provenance& provenance,
    const std::function<bool(const ReproduceProgress&)>& on_progress, int at_once) {
  absl::StatusOr<RunFolder> folder = RunFolder::Open(out, provenance.version, quick);
  if (!folder.ok()) return folder.status();
  return Run(plan, quick, provenance, on_progress, at_once, *std::move(folder)).All();
}

}  // namespace bfly::control
