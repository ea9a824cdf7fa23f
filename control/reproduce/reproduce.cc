// SPDX-License-Identifier: Apache-2.0
#include "control/reproduce/reproduce.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <numeric>
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

// A kill loses at most this of the time that an experiment took.
constexpr std::chrono::seconds kSavesEvery(1);

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
absl::StatusOr<ExperimentOutcome> OutcomeBefore(const PlannedExperiment& planned) {
  const Experiment& experiment = *planned.experiment;
  const absl::StatusOr<std::vector<Point>> points = experiment.Sweep();
  if (!points.ok()) return points.status();
  const auto claims = ClaimsNamed(experiment.Claims(), experiment.named_claims());
  if (!claims.ok()) return claims.status();
  ExperimentOutcome outcome{.name = planned.name,
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
      absl::StrCat("the results in ", folder, " come from another version of the experiment file, ",
                   "which ", folder,
                   "/experiment.yaml holds; remove that folder to measure again, or choose another "
                   "--out"));
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
        left_({}) {}

  absl::StatusOr<std::vector<ExperimentOutcome>> All() {
    for (const PlannedExperiment& planned : plan_.experiments) {
      absl::StatusOr<ExperimentOutcome> outcome = OutcomeBefore(planned);
      if (!outcome.ok()) return outcome.status();
      const std::string results = folder_.ResultsOf(planned.name);
      if (absl::Status status = CheckUnchanged(results, outcome->configuration); !status.ok()) {
        return status;
      }
      outcomes_.push_back(*std::move(outcome));
    }
    // What is done is read first, so that an interrupted run leaves it on the page.
    std::vector<size_t> order(outcomes_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto rest = std::stable_partition(
        order.begin(), order.end(), [&](size_t i) { return Earlier(outcomes_[i].name).finished; });
    const auto read = static_cast<size_t>(rest - order.begin());
    left_ = TimeLeft(ExpectedSeconds(order));
    for (size_t place = 0; place < order.size(); ++place) {
      const size_t i = order[place];
      const absl::Status status = One(i, place + 1);
      if (absl::IsCancelled(status)) break;
      if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat(outcomes_[i].name, ": ", status.message()));
      }
      if (place + 1 < read) continue;  // The page of an earlier run has more.
      if (absl::Status written = WritePage(); !written.ok()) return written;
    }
    if (absl::Status written = WritePage(); !written.ok()) return written;
    return std::move(outcomes_);
  }

 private:
  std::vector<double> ExpectedSeconds(const std::vector<size_t>& order) const {
    std::vector<double> expected;
    for (const size_t i : order) expected.push_back(plan_.experiments[i].seconds);
    return expected;
  }

  // The record of an experiment as earlier runs left it, compared with the results that are there.
  RunRecord Earlier(const std::string& name) const {
    RunRecord record = folder_.Find(name);
    record.finished = record.finished && IsComplete(folder_.ResultsOf(name));
    return record;
  }

  // Saves `record` with the time since `start` added to it.
  absl::Status Save(const std::string& name, RunRecord record, Clock::time_point start) {
    record.seconds += SecondsSince(start);
    record.machine = provenance_.machine;
    saved_ = Clock::now();
    return folder_.Save(name, record);
  }

  // Runs and draws what is missing of an experiment, and fills its outcome. `place`: among all
  // experiments of this run, from 1.
  absl::Status One(size_t number, size_t place) {
    const auto start = Clock::now();
    saved_ = start;
    ExperimentOutcome& outcome = outcomes_[number];
    RunRecord record = Earlier(outcome.name);
    const bool found = record.finished;
    const absl::Status status = Measured(number, place, start, record, outcome);
    if (!status.ok() && !absl::IsCancelled(status)) return status;
    if (!found) {
      record.finished = status.ok();
      if (absl::Status saved = Save(outcome.name, record, start); !saved.ok()) return saved;
      record = folder_.Find(outcome.name);
    }
    if (!status.ok()) return status;
    left_.End(SecondsSince(start));
    outcome.seconds = record.seconds;
    outcome.machine = record.machine;
    outcome.finished = true;
    return absl::OkStatus();
  }

  absl::Status Measured(size_t number, size_t place, Clock::time_point start, RunRecord& record,
                        ExperimentOutcome& outcome) {
    Experiment& experiment = *plan_.experiments[number].experiment;
    const std::string results = folder_.ResultsOf(outcome.name);
    absl::StatusOr<Journal> journal = Journal::Continue(results, outcome.configuration);
    if (!journal.ok()) return journal.status();
    const double part = PartDone(experiment, *journal);
    const bool only_read = record.finished && part >= 1;  // That is quick, and is not interrupted.
    left_.Begin(part);
    if (const auto note = experiment.Start(); !note.ok()) return note.status();
    ReproduceProgress progress{.number = place,
                               .experiments = outcomes_.size(),
                               .name = outcome.name,
                               .trials = {.total = outcome.trials}};
    const auto go_on = [&] {
      const double done = static_cast<double>(progress.trials.done) /
                          static_cast<double>(std::max<size_t>(progress.trials.total, 1));
      progress.seconds_left = left_.Seconds(done, SecondsSince(start));
      // The Save at the end of the experiment reports the error.
      if (!record.finished && Clock::now() >= saved_ + kSavesEvery) {
        Save(outcome.name, record, start).IgnoreError();
      }
      return on_progress_(progress) || only_read;
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
    return Draw(number, results, record.figures, outcome);
  }

  static absl::Status Draw(size_t number, const std::string& results,
                           const std::vector<std::string>& figures, ExperimentOutcome& outcome) {
    for (const std::string& figure : figures) {
      const std::string file = absl::StrCat(results, "/", figure, ".svg");
      const absl::StatusOr<std::string> svg = ReadFile(file);
      if (!svg.ok()) return svg.status();
      absl::StatusOr<std::string> drawing =
          InlineSvg(*svg, absl::StrCat("f", number + 1, "-", outcome.drawings.size() + 1, "-"),
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
  Clock::time_point saved_;  // when the record of the experiment that runs was saved last
  std::vector<ExperimentOutcome> outcomes_;
};

}  // namespace

absl::StatusOr<std::vector<ExperimentOutcome>> Reproduce(
    const ReproductionPlan& plan, const std::string& out, bool quick, const Provenance& provenance,
    const std::function<bool(const ReproduceProgress&)>& on_progress, int at_once) {
  absl::StatusOr<RunFolder> folder = RunFolder::Open(out, provenance.version, quick);
  if (!folder.ok()) return folder.status();
  return Run(plan, quick, provenance, on_progress, at_once, *std::move(folder)).All();
}

}  // namespace bfly::control
