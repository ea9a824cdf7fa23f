// SPDX-License-Identifier: Apache-2.0
// bfly measure FILE --out DIR: runs an experiment under the virtual clock or on the wall clock and
// checks its claims.
#include "control/measure/measure.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/interruptible.h"
#include "control/cli/verb.h"
#include "control/measure/core/claim_rows.h"
#include "control/measure/core/journal.h"
#include "control/measure/draw_folder.h"
#include "control/measure/experiment_file.h"
#include "control/measure/trials_at_once.h"

namespace bfly::control {
namespace {

struct MeasureOptions {
  std::string file;
  std::string out;
  std::string rerun;
  std::string plot;
  std::string clock;
  std::vector<std::string> set;
  int at_once = 0;  // 0: as many as keep the CPUs busy
};

// On a terminal, redraws one line. Elsewhere, prints a line for every tenth part.
void Show(const Progress& progress) {
  static size_t last_tenth = SIZE_MAX;
  const bool terminal = isatty(STDERR_FILENO);
  const size_t tenth = progress.done * 10 / progress.total;
  if (!terminal && tenth == last_tenth) return;
  last_tenth = tenth;
  fprintf(stderr, "%s%s %zu/%zu trials  %s seed=%llu%s", terminal ? "\r\033[K" : "",
          ProgressBar(progress.done, progress.total).c_str(), progress.done, progress.total,
          progress.point.c_str(), static_cast<unsigned long long>(progress.seed),
          terminal ? "" : "\n");
}

// Draws the plots after everything else is written. The results say that they are complete only
// then.
absl::Status Draw(const std::string& out) {
  const absl::Status status = DrawFolder(out, Interrupted).status();
  if (!absl::IsCancelled(status)) return status;
  return absl::CancelledError(absl::StrCat(
      "interrupted: ", out,
      " holds all results, but not all plots, and is marked incomplete; the same command draws "
      "them, and so does bfly measure --plot ",
      out));
}

// Returns the worst error of a run. `unjudged` comes from NamedButNotJudged. A run that was asked
// for a verdict fails if it has none to give.
absl::Status Conclude(bool measured, int failed, const std::vector<std::string>& unjudged,
                      const absl::Status& drawn, const std::string& out) {
  if (!measured) {
    return absl::CancelledError(
        absl::StrCat("interrupted: ", out,
                     " holds what is done, marked incomplete; the same command "
                     "continues it"));
  }
  if (!drawn.ok()) return drawn;
  std::vector<std::string> wrong;
  if (failed > 0) wrong.push_back(absl::StrCat(failed, " claims failed"));
  if (!unjudged.empty()) {
    wrong.push_back(absl::StrCat("the experiment names claims that were judged at no point: ",
                                 absl::StrJoin(unjudged, "; ")));
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(wrong, ", and "));
}

absl::Status PrintResults(const std::string& out) {
  const absl::StatusOr<std::string> results = ReadFile(out + "/results.json");
  if (results.ok()) printf("%s", results->c_str());
  return results.status();
}

void PrintSummary(const Experiment& experiment, const Report& report, const std::string& out) {
  printf("%s\npoints: %s (claims.txt says why); results in %s\n",
         experiment.Summary(report).c_str(), VerdictCounts(report.claims).c_str(), out.c_str());
  if (report.Count(Verdict::kPass) + report.Count(Verdict::kFail) == 0) {
    printf(
        "There is no evidence for or against any claim: claims.txt has the reason for each "
        "claim.\n");
  }
}

absl::Status RunExperiment(const std::string& file, const std::string& out,
                           const MeasureOptions& options, bool json) {
  const absl::StatusOr<std::unique_ptr<Experiment>> read =
      ReadExperiment(file, options.set, options.clock);
  if (!read.ok()) return read.status();
  Experiment& experiment = **read;
  absl::StatusOr<Journal> journal = Journal::Open(out, WriteExperiment(experiment));
  if (!journal.ok()) return journal.status();
  const absl::StatusOr<std::string> note = experiment.Start();
  if (!note.ok()) return note.status();
  fprintf(stderr, "%s", note->c_str());
  absl::StatusOr<Report> report = absl::InternalError("not run");
  absl::Status drawn;
  {
    const Interruptible interruptible;
    report = Measure(
        experiment, *journal,
        [](const Progress& progress) {
          Show(progress);
          return !Interrupted();
        },
        TrialsAtOnce(experiment, options.at_once));
    if (!report.ok()) return report.status();
    if (absl::Status status = WriteReport(experiment, *report, out); !status.ok()) return status;
    drawn = Draw(out);
  }
  if (!json) {
    PrintSummary(experiment, *report, out);
  } else if (absl::Status status = PrintResults(out); !status.ok()) {
    return status;
  }
  return Conclude(report->complete, report->Count(Verdict::kFail),
                  NamedButNotJudged(report->claims, experiment.named_claims()), drawn, out);
}

absl::Status RunPlot(const std::string& folder, bool json) {
  const Interruptible interruptible;
  const absl::StatusOr<std::vector<std::string>> drawn = DrawFolder(folder, Interrupted);
  if (!drawn.ok()) return drawn.status();
  if (json) {
    const nlohmann::ordered_json told = {{"folder", folder}, {"drawn", *drawn}};
    printf("%s\n", told.dump(2).c_str());
    return absl::OkStatus();
  }
  if (drawn->empty()) printf("%s holds nothing that could be drawn\n", folder.c_str());
  for (const std::string& name : *drawn) {
    printf("%s/%s: drawn as .svg and .png, and for a dark page as -dark.svg and -dark.png\n",
           folder.c_str(), name.c_str());
  }
  return absl::OkStatus();
}

// The folder beside `folder` with `.rerun` after its name, also if `folder` ends in a slash, `.` or
// `..`.
std::string RerunOf(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (path == "." || path.filename() == "..") {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    if (!error) path = real;
  }
  return path.string() + ".rerun";
}

absl::Status RunMeasure(const MeasureOptions& options, bool json) {
  if (!options.plot.empty()) return RunPlot(options.plot, json);
  const std::string file =
      options.rerun.empty() ? options.file : options.rerun + "/experiment.yaml";
  const std::string out =
      options.out.empty() && !options.rerun.empty() ? RerunOf(options.rerun) : options.out;
  return RunExperiment(file, out, options, json);
}

}  // namespace

void AddMeasure(CLI::App& app, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(app, invocation, "measure",
              "Run an experiment and check its claims: exactly, or with real workers",
              "bfly measure topologies/experiments/greedy-butterfly.yaml --out /tmp/greedy\n"
              "  bfly measure topologies/experiments/greedy-butterfly.yaml --out /tmp/wall --clock "
              "wall --set d=3 "
              "--set rho=0.5\n"
              "  bfly measure --plot /tmp/greedy");
  auto options = std::make_shared<MeasureOptions>();
  CLI::Option* file = verb->add_option("file", options->file, "Experiment file")->type_name("FILE");
  CLI::Option* rerun = verb->add_option("--rerun", options->rerun,
                                        "Run the experiment of a results folder again; under the "
                                        "virtual clock the results are the "
                                        "same to the bit")
                           ->type_name("DIR")
                           ->excludes(file);
  CLI::Option* plot =
      verb->add_option("--plot", options->plot,
                       "Draw the plots of a results folder again, from its results.json; nothing "
                       "is measured")
          ->type_name("DIR")
          ->excludes(file)
          ->excludes(rerun);
  verb->add_option("--out", options->out,
                   "Folder for the results; it must not exist, or hold this experiment unfinished. "
                   "With --rerun: DIR.rerun if left out")
      ->type_name("DIR")
      ->excludes(plot);
  verb->add_option("--clock", options->clock,
                   "virtual: exact, as fast as the CPU allows; wall: real workers, on links with a "
                   "rate, in real time; left out: as the file says, or virtual")
      ->check(CLI::IsMember({"virtual", "wall"}))
      ->excludes(plot);
  verb->add_option("--set", options->set, "Lay a value over the file's: key=value or key=[v1, v2]")
      ->type_name("KEY=VALUE")
      ->take_all()
      ->excludes(plot);
  verb->add_option("--jobs", options->at_once,
                   "Trials that run at the same time; the results do not depend on it [as many as "
                   "there are CPUs]")
      ->check(CLI::Range(1, kMaxTrialsAtOnce))
      ->type_name("N")
      ->excludes(plot);
  verb->final_callback([&invocation, options, file, rerun, plot] {
    if (file->count() + rerun->count() + plot->count() == 0) {
      throw CLI::RequiredError("FILE, --rerun DIR or --plot DIR");
    }
    if (file->count() > 0 && options->out.empty()) throw CLI::RequiredError("--out DIR");
    invocation.action = [&invocation, options] {
      return RunMeasure(*options, invocation.common.json);
    };
  });
}

}  // namespace bfly::control
