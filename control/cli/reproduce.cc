// SPDX-License-Identifier: Apache-2.0
// bfly reproduce --out DIR: runs the experiments of the papers and writes one page about them.
#include "control/reproduce/reproduce.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "control/cli/bench_report.h"
#include "control/cli/commit.h"
#include "control/cli/interruptible.h"
#include "control/cli/verb.h"
#include "control/measure/trials_at_once.h"
#include "control/reproduce/duration_text.h"
#include "control/reproduce/shell_word.h"

namespace bfly::control {
namespace {

struct ReproduceVerbOptions {
  std::string out;
  std::string list;
  std::vector<std::string> papers;
  bool quick = false;
  int at_once = 0;  // 0: as many as keep the CPUs busy
};

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm date = {};
  gmtime_r(&now, &date);
  return absl::StrFormat("%04d-%02d-%02d", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

std::string CommandText(const ReproduceVerbOptions& options) {
  std::string text = absl::StrCat("bfly reproduce --out ", ShellWord(options.out));
  if (options.quick) absl::StrAppend(&text, " --quick");
  for (const std::string& paper : options.papers)
    absl::StrAppend(&text, " --paper ", ShellWord(paper));
  if (!options.list.empty()) absl::StrAppend(&text, " --list ", ShellWord(options.list));
  return text;
}

// Shows how far the run is. On a terminal it redraws one line, a few times a second. Elsewhere it
// prints a line for every quarter of an experiment.
class Display {
 public:
  void Show(const ReproduceProgress& progress) {
    const size_t total = std::max<size_t>(progress.trials.total, 1);
    const auto now = std::chrono::steady_clock::now();
    const size_t quarter = progress.number * 5 + progress.trials.done * 4 / total;
    if (terminal_ ? now < next_ : quarter == last_quarter_) return;
    next_ = now + std::chrono::milliseconds(200);
    last_quarter_ = quarter;
    fprintf(stderr, "%s%s %zu/%zu %s: %zu/%zu trials, about %s left%s", terminal_ ? "\r\033[K" : "",
            ProgressBar(progress.trials.done, total).c_str(), progress.number, progress.experiments,
            progress.name.c_str(), progress.trials.done, progress.trials.total,
            DurationText(progress.seconds_left).c_str(), terminal_ ? "" : "\n");
  }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::chrono::steady_clock::time_point next_ = {};
  size_t last_quarter_ = SIZE_MAX;
};

nlohmann::ordered_json PageJson(const Page& page, const std::string& file) {
  nlohmann::ordered_json papers = nlohmann::ordered_json::array();
  for (const PaperPart& paper : page.papers) {
    nlohmann::ordered_json one{{"name", paper.name}, {"statements", {}}, {"tests", {}}};
    for (const Verdict verdict : kVerdicts) {
      if (verdict == Verdict::kNotApplicable) continue;
      one["statements"][std::string(VerdictName(verdict))] = paper.Count(verdict);
      one["tests"][std::string(VerdictName(verdict))] = paper.Points(verdict);
    }
    one["statements"][StandingName(std::nullopt)] = paper.Count(std::nullopt);
    papers.push_back(std::move(one));
  }
  return {
      {"page", file}, {"complete", page.complete()}, {"seconds", page.seconds}, {"papers", papers}};
}

void PrintTable(const Page& page, const std::string& file) {
  printf("%-24s %6s %6s %10s %8s %13s\n", "statements of", "PASS", "FAIL", "INVARIANT", "VACUOUS",
         "NOT MEASURED");
  for (const PaperPart& paper : page.papers) {
    printf("%-24s %6d %6d %10d %8d %13d\n", paper.name.c_str(), paper.Count(Verdict::kPass),
           paper.Count(Verdict::kFail), paper.Count(Verdict::kInvariant),
           paper.Count(Verdict::kVacuous), paper.Count(std::nullopt));
  }
  printf("page: %s\n", file.c_str());
}

std::string Failures(const Page& page) {
  std::vector<std::string> failed;
  for (const PaperPart& paper : page.papers) {
    for (const Statement& statement : paper.statements) {
      if (statement.verdict() == Verdict::kFail) {
        failed.push_back(absl::StrCat(statement.id, " (", statement.source, ")"));
      }
    }
  }
  return absl::StrJoin(failed, ", ");
}

absl::Status RunReproduce(const ReproduceVerbOptions& options, bool json) {
  std::string list = options.list;
  if (list.empty()) {
    const absl::StatusOr<std::string> shipped = ShippedReproductionList();
    if (!shipped.ok()) return shipped.status();
    list = *shipped;
  }
  const absl::StatusOr<ReproductionPlan> plan = MakePlan(list, options.papers, options.quick);
  if (!plan.ok()) return plan.status();
  const Provenance provenance{
      .version = absl::StrCat(BFLY_VERSION, " (", Commit(), ")"),
      .compiler = BFLY_COMPILER,
      .machine = absl::StrCat(sysconf(_SC_NPROCESSORS_ONLN), " cores of ", ProcessorName()),
      .day = Today(),
      .command = CommandText(options)};
  Display display;
  absl::StatusOr<std::vector<ExperimentOutcome>> outcomes = absl::InternalError("not run");
  {
    const Interruptible interruptible;
    outcomes = Reproduce(
        *plan, options.out, options.quick, provenance,
        [&display](const ReproduceProgress& progress) {
          display.Show(progress);
          return !Interrupted();
        },
        options.at_once);
  }
  if (!outcomes.ok()) return outcomes.status();
  const Page page = MakePage(plan->list, plan->chosen, *outcomes, options.quick, provenance);
  const std::string file = options.out + "/index.html";
  if (json) {
    printf("%s\n", PageJson(page, file).dump(2).c_str());
  } else {
    PrintTable(page, file);
  }
  if (!page.complete()) {
    return absl::CancelledError(absl::StrCat("interrupted: ", page.finished, " of ", page.planned,
                                             " experiments are done and stand in ", file,
                                             "; the same command goes on where this one stopped"));
  }
  if (const int failed = page.Count(Verdict::kFail); failed > 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        failed, failed == 1 ? " statement" : " statements", " failed: ", Failures(page)));
  }
  return absl::OkStatus();
}

}  // namespace

void AddReproduce(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      app, invocation, "reproduce",
      "Run the experiments of the papers and write one page: what each statement says, what was "
      "measured, and the verdict",
      "bfly reproduce --out /tmp/papers --quick\n"
      "  bfly reproduce --out /tmp/circuits --paper cole\n"
      "  bfly reproduce --out /tmp/other --list topologies/reproduction.yaml");
  auto options = std::make_shared<ReproduceVerbOptions>();
  verb->add_option("--out", options->out,
                   "Folder for index.html and the results; it must not exist, or hold the same "
                   "run, which is then continued")
      ->type_name("DIR")
      ->required();
  verb->add_flag("--quick", options->quick,
                 "Smaller sweeps: about half a minute on two cores, in place of eight minutes");
  verb->add_option("--paper", options->papers,
                   "Only this paper; may be given several times: stamoulis-tsitsiklis, cole, "
                   "pietracaprina, upfal-felperin-snir, diebold, leighton-maggs, booksim, derived")
      ->type_name("NAME");
  verb->add_option("--list", options->list,
                   "The list of papers and experiments; left out: the one that is shipped, "
                   "topologies/reproduction.yaml")
      ->type_name("FILE");
  verb->add_option("--jobs", options->at_once,
                   "Trials that run at the same time; the results do not depend on it [as many as "
                   "there are CPUs]")
      ->check(CLI::Range(1, kMaxTrialsAtOnce))
      ->type_name("N");
  verb->final_callback([&invocation, options] {
    invocation.action = [&invocation, options] {
      return RunReproduce(*options, invocation.common.json);
    };
  });
}

}  // namespace bfly::control
