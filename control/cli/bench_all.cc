// SPDX-License-Identifier: Apache-2.0
// bfly bench all: every bench, and pages of what came out.
#include "control/cli/bench_all.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "control/cli/bench_report.h"
#include "control/cli/interruptible.h"
#include "control/cli/machine_facts.h"
#include "control/cli/syntax.h"
#include "control/measure/core/journal.h"
#include "control/server/number_option.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::control {
namespace {

constexpr char kBegin[] = "<!-- figures: begin -->\n";
constexpr char kEnd[] = "<!-- figures: end -->\n";
constexpr char kCheckoutFolder[] = "docs/bench";
constexpr double kInterruptSeconds = 10;  // to end after an interrupt
constexpr double kLookSeconds = 0.1;      // until the next look for Ctrl-C
constexpr double kFabricSeconds = 60;     // for a fabric to come up, or to go down

struct BenchAllOptions {
  std::string into;
  bool quick = false;
  std::vector<std::string> only;
  double limit = 0;  // seconds; 0: 600, or 30 with --quick
};

// The output of a program, and why it failed.
struct BenchOutcome {
  std::string printed;
  double seconds = 0;
  std::string failure;  // empty if its exit code was 0
};

// SIGINT, or SIGTERM if SIGINT has come. A terminal sends SIGINT to the children too, and a second
// one would end them before they clean up.
int SignalForChildren() {
  struct sigaction action = {};
  sigaction(SIGINT, nullptr, &action);
  return action.sa_handler == SIG_DFL ? SIGTERM : SIGINT;
}

// While an Interruptible lives.
class FigureRuns {
 public:
  FigureRuns(bool quick, double limit) : quick_(quick), limit_(limit) {}
  // PERMISSION_DENIED: there is no place for the files of the benches.
  absl::Status made() const { return directory_.made(); }

  absl::StatusOr<BenchOutcome> Run(const BenchFigure& figure) const {
    if (figure.fabric.empty()) return Bench(figure);
    const std::string file = directory_.path() + "/fabric.yaml";
    std::ofstream(file) << figure.fabric;
    auto outcome = Bfly({"up", file}, kFabricSeconds);
    if (outcome.ok() && outcome->failure.empty() && !Interrupted()) outcome = Bench(figure);
    const auto down = Bfly({"down"}, kFabricSeconds, /*to_the_end=*/true);
    if (outcome.ok() && !down.ok()) return down;
    if (outcome.ok() && outcome->failure.empty()) outcome->failure = down->failure;
    return outcome;
  }

  std::vector<std::string> WordsOf(const BenchFigure& figure) const {
    return quick_ ? figure.quick_words : figure.words;
  }

 private:
  absl::StatusOr<BenchOutcome> Bench(const BenchFigure& figure) const {
    std::vector<std::string> words = WordsOf(figure);
    words.insert(words.begin(), "bench");
    return Bfly(std::move(words), limit_);
  }

  // An interrupt ends the program, but not if it runs `to_the_end`.
  absl::StatusOr<BenchOutcome> Bfly(std::vector<std::string> words, double seconds,
                                    bool to_the_end = false) const {
    words.insert(words.begin(), "/proc/self/exe");
    words.insert(words.end(), {"--run-dir", directory_.path() + "/run"});
    const auto start = std::chrono::steady_clock::now();
    auto process = dataplane::BenchProcess::Execute(directory_.path() + "/log", words);
    if (!process.ok()) return process.status();
    const auto may_wait = [&] {
      return !(*process)->HasEnded() && dataplane::SecondsSince(start) < seconds &&
             (to_the_end || !Interrupted());
    };
    while (may_wait()) {
      (*process)->WaitForEnd(std::min(kLookSeconds, seconds - dataplane::SecondsSince(start)));
    }
    BenchOutcome outcome;
    if (!(*process)->HasEnded()) {
      const bool in_time = dataplane::SecondsSince(start) < seconds;
      outcome.failure = in_time ? "interrupted"
                                : absl::StrFormat("not ended after %g s, and interrupted", seconds);
      // It ends the programs that it started by itself.
      kill((*process)->pid(), in_time ? SignalForChildren() : SIGINT);
      (*process)->WaitForEnd(kInterruptSeconds);
    } else if (const int code = (*process)->WaitForEnd(kInterruptSeconds); code != 0) {
      outcome.failure = code < 0 ? "killed" : absl::StrCat("failed with exit code ", code);
    }
    outcome.seconds = dataplane::SecondsSince(start);
    outcome.printed = (*process)->Log();
    return outcome;
  }

  const bool quick_;
  const double limit_;
  const dataplane::BenchDirectory directory_;
};

// A page's figures as Markdown, without the markers.
class FigureText {
 public:
  explicit FigureText(const BenchAllOptions& options) {
    const bool quick = options.quick;
    absl::StrAppend(
        &text_, "## Figures of a machine\n\n`bfly bench all", quick ? " --quick" : "",
        options.only.empty() ? "" : " --only " + absl::StrJoin(options.only, ","),
        "` wrote this part on ", absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone()),
        " and replaces it the next time.",
        quick ? " Runs were short, so the figures only show that the benches work." : "",
        "\n\n| | |\n|---|---|\n");
    for (const auto& [name, value] : MachineFacts()) {
      absl::StrAppend(&text_, "| ", name, " | ", value, " |\n");
    }
    std::ifstream load("/proc/loadavg");
    std::string average;
    load >> average;
    absl::StrAppend(&text_, "| load before | ", average, " |\n");
  }

  void Add(const BenchFigure& figure, const std::vector<std::string>& words,
           const BenchOutcome& outcome) {
    absl::StrAppend(&text_, "\n### ", figure.title, "\n\n`bfly bench ", absl::StrJoin(words, " "),
                    "`, ", absl::StrFormat("%.1f", outcome.seconds), " s",
                    outcome.failure.empty() ? "" : ", **" + outcome.failure + "**",
                    ":\n\n```text\n", outcome.printed);
    if (outcome.printed.empty() || outcome.printed.back() != '\n') text_ += "\n";
    text_ += "```\n";
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::StatusOr<std::string> ReadPage(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return ReadFile(path);
  std::string name = path.stem().string();
  std::replace(name.begin(), name.end(), '-', ' ');
  return absl::StrCat("# Figures: ", name, "\n");
}

absl::StatusOr<std::filesystem::path> FolderOf(const BenchAllOptions& options) {
  const std::filesystem::path folder = options.into.empty() ? kCheckoutFolder : options.into;
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return folder;
  return absl::InvalidArgumentError(
      options.into.empty() ? absl::StrCat("there is no folder ", kCheckoutFolder,
                                          " here, so --into must name the folder for the pages")
                           : absl::StrCat("--into: ", folder.string(), " is not a folder"));
}

// All figures of the pages on which a bench that was asked for has some, because a page's figures
// are replaced together.
std::vector<BenchFigure> ChosenFigures(const BenchAllOptions& options) {
  std::set<std::string> pages;
  for (const BenchFigure& figure : AllFigures()) {
    if (options.only.empty() || std::count(options.only.begin(), options.only.end(), figure.name)) {
      pages.insert(figure.page);
    }
  }
  std::vector<BenchFigure> chosen = AllFigures();
  std::erase_if(chosen, [&](const BenchFigure& figure) { return !pages.contains(figure.page); });
  return chosen;
}

absl::Status BenchAll(const BenchAllOptions& options, bool json) {
  const absl::StatusOr<std::filesystem::path> folder = FolderOf(options);
  if (!folder.ok()) return folder.status();
  const std::vector<BenchFigure> figures = ChosenFigures(options);
  // Before anything runs: a page that cannot take its figures.
  for (const BenchFigure& figure : figures) {
    const auto page = ReadPage(*folder / figure.page);
    if (!page.ok()) return page.status();
    if (const auto text = WithFigures(*page, ""); !text.ok()) {
      return absl::FailedPreconditionError(absl::StrCat((*folder / figure.page).string(), ": ",
                                                        std::string(text.status().message())));
    }
  }
  const double limit = options.limit > 0 ? options.limit : options.quick ? 30 : 600;
  if (!json) {
    printf("%zu figures into %s, each at most %g s\n", figures.size(), folder->c_str(), limit);
  }
  nlohmann::ordered_json told = {{"folder", folder->string()},
                                 {"figures", nlohmann::ordered_json::array()}};
  const Interruptible interruptible;
  const FigureRuns runs(options.quick, limit);
  if (absl::Status status = runs.made(); !status.ok()) return status;
  std::vector<std::string> failed;
  std::unique_ptr<FigureText> text;
  for (size_t i = 0; i < figures.size(); ++i) {
    const BenchFigure& figure = figures[i];
    const std::vector<std::string> words = runs.WordsOf(figure);
    if (text == nullptr) text = std::make_unique<FigureText>(options);
    const absl::StatusOr<BenchOutcome> outcome = runs.Run(figure);
    if (Interrupted()) {
      return absl::CancelledError(
          absl::StrCat("interrupted in bfly bench ", absl::StrJoin(words, " "), ", after ", i,
                       " of ", figures.size(), " figures; pages with all of theirs are written"));
    }
    if (!outcome.ok()) return outcome.status();
    if (!json) {
      printf("  bfly bench %s: %.1f s%s\n", absl::StrJoin(words, " ").c_str(), outcome->seconds,
             outcome->failure.empty() ? "" : (", " + outcome->failure).c_str());
      fflush(stdout);
    }
    told["figures"].push_back({{"bench", absl::StrJoin(words, " ")},
                               {"page", figure.page},
                               {"seconds", outcome->seconds},
                               {"failure", outcome->failure}});
    text->Add(figure, words, *outcome);
    if (!outcome->failure.empty()) failed.push_back(absl::StrJoin(words, " "));
    if (i + 1 < figures.size() && figures[i + 1].page == figure.page) continue;
    const std::filesystem::path path = *folder / figure.page;
    const auto page = ReadPage(path);
    if (!page.ok()) return page.status();
    const auto whole = WithFigures(*page, text->text());
    if (!whole.ok()) return whole.status();
    if (absl::Status status = WriteFile(path, *whole); !status.ok()) return status;
    text.reset();
  }
  if (json) printf("%s\n", told.dump(2).c_str());
  if (failed.empty()) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("these failed, or told no ratio, and the pages say why: bfly bench ",
                   absl::StrJoin(failed, "; bfly bench ")));
}

size_t Times(const std::string& text, const std::string& words) {
  return std::vector<absl::string_view>(absl::StrSplit(text, words)).size() - 1;
}

}  // namespace

absl::StatusOr<std::string> WithFigures(const std::string& page, const std::string& figures) {
  const std::string marked = absl::StrCat(kBegin, figures, kEnd);
  const size_t begins = Times(page, kBegin), ends = Times(page, kEnd);
  if (begins == 0 && ends == 0) {
    const char* const gap = page.empty() ? "" : page.back() == '\n' ? "\n" : "\n\n";
    return absl::StrCat(page, gap, marked);
  }
  const size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begins != 1 || ends != 1 || end < begin) {
    return absl::FailedPreconditionError(
        "the lines \"<!-- figures: begin -->\" and \"<!-- figures: end -->\" must stand there once "
        "each, in this order, or not at all");
  }
  return absl::StrCat(page.substr(0, begin), marked, page.substr(end + sizeof(kEnd) - 1));
}

void AddAllBenches(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(bench, invocation, "all", "Run all benches and write what they print into pages",
              "sudo bfly bench all --quick --into /tmp");
  auto options = std::make_shared<BenchAllOptions>();
  verb->add_option("--into", options->into,
                   "Folder of the pages. A page that is there keeps all but the part that this "
                   "command wrote before [docs/bench, if it is there]")
      ->type_name("DIR");
  verb->add_flag("--quick", options->quick, "Short runs, to see whether all benches work");
  std::vector<std::string> names;
  for (const BenchFigure& figure : AllFigures()) {
    if (names.empty() || names.back() != figure.name) names.push_back(figure.name);
  }
  verb->add_option("--only", options->only,
                   "Only these benches, and those that share a page with them")
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->type_name("BENCH,BENCH...");
  verb->add_option("--limit", options->limit,
                   "Interrupt a bench that takes longer [600s, or 30s with --quick]")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.1, 86400.0))
      ->type_name("TIME");
  verb->callback([&invocation, options] {
    invocation.action = [json = invocation.common.json, options] {
      return BenchAll(*options, json);
    };
  });
}

}  // namespace bfly::control
