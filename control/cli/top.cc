// SPDX-License-Identifier: Apache-2.0
// bfly top: stages, links, workers, ports, circuits and latencies, live on a terminal or once as
// text.
#include "control/cli/top.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/cli/syntax.h"
#include "control/cli/terminal.h"
#include "control/cli/text.h"
#include "control/cli/top_reader.h"
#include "control/server/number_option.h"
#include "control/top/browser.h"
#include "control/top/curses_screen.h"
#include "control/top/sample_json.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

using TopClock = std::chrono::steady_clock;

// Columns of text for scripts, where nobody says how wide a line may be.
constexpr uint32_t kColumnsOfText = 132;

std::vector<std::string> ViewNames() {
  std::vector<std::string> names;
  for (const View& view : Views()) names.emplace_back(view.name);
  return names;
}

// The browser that the options ask for.
absl::StatusOr<Browser> MakeBrowser(const TopOptions& options) {
  const View* const view = FindView(options.view);
  if (view == nullptr) return absl::InternalError(absl::StrCat("there is no view ", options.view));
  ViewState state{.sort = 0, .stage = options.stage};
  if (!options.sort.empty()) {
    const auto found = std::find(view->sorts.begin(), view->sorts.end(), options.sort);
    if (found == view->sorts.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--sort: the view ", view->name, " cannot be sorted by '", options.sort, "'; it ",
          view->sorts.empty() ? "has one order" : "sorts by " + absl::StrJoin(view->sorts, ", ")));
    }
    state.sort = static_cast<size_t>(found - view->sorts.begin());
  }
  return Browser(*view, state);
}

absl::Status NothingLoaded() {
  return absl::FailedPreconditionError("no fabric is loaded: there is nothing to watch");
}

absl::Status CheckStage(const TopOptions& options, const Sample& sample) {
  if (!options.stage) return absl::OkStatus();
  if (*options.stage >= sample.stages) {
    return absl::InvalidArgumentError(absl::StrCat("--stage: ", *options.stage, " is outside 0..",
                                                   sample.stages - 1,
                                                   ", the stages of the fabric"));
  }
  if (PlaceIn(sample.part.stages, *options.stage)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--stage: ", *options.stage, " is not among --stages, ", FormatRanges(sample.part.stages)));
}

// Two rounds of questions, an interval apart: without the first one there are no rates.
absl::Status PrintOnce(const TopOptions& options, const Common& common) {
  absl::StatusOr<Browser> browser = MakeBrowser(options);
  if (!browser.ok()) return browser.status();
  TopReader reader(options.part, common);
  absl::StatusOr<Sample> sample = reader.Next();
  if (sample.ok() && sample->loaded) {
    std::this_thread::sleep_for(std::chrono::milliseconds(options.interval_ms));
    sample = reader.Next();
  }
  if (!sample.ok()) return sample.status();
  if (!sample->loaded) return NothingLoaded();
  if (const absl::Status wrong = CheckStage(options, *sample); !wrong.ok()) return wrong;
  if (common.json) {
    printf("%s\n", SampleJson(*sample).dump(2).c_str());
  } else {
    browser->Take(*std::move(sample));
    Canvas canvas{.columns = kColumnsOfText,
                  .lines = static_cast<uint32_t>(options.lines),
                  .colour = false,
                  .utf8 = true};
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
      canvas.columns = std::max<uint32_t>(80, size.ws_col);
    for (const Line& line : browser->Print(canvas, options.lines))
      printf("%s\n", PlainText(line).c_str());
  }
  if (fflush(stdout) != 0) return absl::DataLossError("cannot write to standard output");
  return absl::OkStatus();
}

// Until `q`, a signal, the end of the terminal or the time's end.
absl::Status Follow(Browser& browser, CursesScreen& screen, TopThread& samples,
                    SignalReader& signals, const TopOptions& options) {
  const TopClock::time_point end =
      options.seconds > 0
          ? TopClock::now() +
                std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000))
          : TopClock::time_point::max();
  // Keys come from a terminal alone.
  const int keys = isatty(STDIN_FILENO) == 1 ? STDIN_FILENO : -1;
  screen.Draw(browser.Draw(screen.canvas(), options.interval_ms));
  while (TopClock::now() < end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - TopClock::now());
    pollfd waiting[] = {
        {signals.descriptor(), POLLIN, 0}, {samples.descriptor(), POLLIN, 0}, {keys, POLLIN, 0}};
    poll(waiting, 3, static_cast<int>(std::min<int64_t>(left.count() + 1, 1000)));
    for (int signal = signals.Next(); signal != 0; signal = signals.Next()) {
      if (signal != SIGWINCH) return absl::OkStatus();
      screen.Resize();
    }
    if (std::optional<absl::StatusOr<Sample>> sample = samples.Take()) {
      const bool first = !browser.has_sample();
      if (!sample->ok() && first) return sample->status();
      if (!sample->ok()) {
        browser.Fail(std::string(sample->status().message()));
      } else if (first && !(*sample)->loaded) {
        return NothingLoaded();
      } else {
        const absl::Status wrong = first ? CheckStage(options, **sample) : absl::OkStatus();
        if (!wrong.ok()) return wrong;
        browser.Take(**std::move(sample));
      }
    }
    if ((waiting[2].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return absl::OkStatus();
    if ((waiting[2].revents & POLLIN) != 0) {
      for (int key = screen.Read(); key != kNoKey; key = screen.Read())
        if (!browser.Press(key)) return absl::OkStatus();
    }
    screen.Draw(browser.Draw(screen.canvas(), options.interval_ms));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunTop(const TopOptions& options, const Common& common) {
  SignalReader signals;  // before the first thread
  absl::StatusOr<Browser> browser = MakeBrowser(options);
  if (!browser.ok()) return browser.status();
  Canvas canvas;
  {
    absl::StatusOr<CursesScreen> screen = CursesScreen::Open();
    if (!screen.ok()) return screen.status();
    TopReader reader(options.part, common);
    TopThread samples(reader, std::chrono::milliseconds(options.interval_ms));
    const absl::Status status = Follow(*browser, *screen, samples, signals, options);
    if (!status.ok()) return status;
    canvas = screen->canvas();
  }
  if (!browser->has_sample() || !browser->shown()->loaded) return absl::OkStatus();
  for (const Line& line : browser->Print(canvas, canvas.lines > 6 ? canvas.lines - 6 : 1)) {
    const Line cut = Cut(line, canvas.columns);
    printf("%s\n", (canvas.colour ? AnsiText(cut) : PlainText(cut)).c_str());
  }
  printf("%s\n", ConservationLine(browser->shown()->account).c_str());
  return absl::OkStatus();
}

void AddTop(CLI::App& app, Invocation& invocation) {
  CLI::App* verb = NewVerb(app, invocation, "top",
                           "Watch stages, links, workers, ports, circuits and latencies live",
                           "bfly top\n  bfly top --once --view links --sort queue\n"
                           "  bfly top --json | jq '.workers[].busy'");
  auto options = std::make_shared<TopOptions>();
  verb->add_option("--view", options->view, "View at the start")
      ->check(CLI::IsMember(ViewNames()))
      ->capture_default_str()
      ->type_name("VIEW");
  verb->add_option("--sort", options->sort, "What the view is sorted by, as its key s chooses")
      ->type_name("FIGURE");
  verb->add_option("--stage", options->stage, "Zoom into this stage")->type_name("STAGE");
  verb->add_flag("--once", options->once,
                 "Print one page of text and end; needs no terminal. --json implies it");
  verb->add_option("--lines", options->lines, "Lines of the view that --once prints at most")
      ->check(CLI::Range(1u, 65536u))
      ->capture_default_str()
      ->type_name("N");
  AddRanges(*verb, "--stages", options->part.stages, "Only links of these stages");
  AddRanges(*verb, "--rows", options->part.rows, "Only links that leave these rows");
  verb->add_option("--interval", options->interval_ms,
                   "Time between two pictures; a plain number is milliseconds")
      ->transform(TimeInMilliseconds())
      ->check(CLI::Range(10u, 60000u))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--seconds", options->seconds,
                   "Stop after this time; a plain number is seconds, 0: never")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.0, 1e9))
      ->capture_default_str()
      ->type_name("TIME");
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      for (std::vector<uint32_t>* numbers : {&options->part.stages, &options->part.rows}) {
        std::sort(numbers->begin(), numbers->end());
        numbers->erase(std::unique(numbers->begin(), numbers->end()), numbers->end());
      }
      if (options->once || common.json) return PrintOnce(*options, common);
      if (isatty(STDOUT_FILENO) == 1) return RunTop(*options, common);
      return absl::Status(absl::InvalidArgumentError(
          "standard output is not a terminal: use --once for one page of text, or --json"));
    };
  });
}

}  // namespace bfly::control
