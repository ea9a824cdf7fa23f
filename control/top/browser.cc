// SPDX-License-Identifier: Apache-2.0
#include "control/top/browser.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/top/number_text.h"

namespace bfly::control {
namespace {

// Below this a screen shows a note alone.
constexpr uint32_t kFewestColumns = 30, kFewestLines = 8;

constexpr const char* kHelp[] = {
    "1 to 7     overview, links, workers, ports, circuits, latency, drawing",
    "Tab        the next view; Shift-Tab the one before",
    "Up, Down   move; PgUp, PgDn by a screen; Home, End (also k and j)",
    "Enter, +   zoom into the stage of the chosen line",
    "-, Esc     zoom out",
    "s          sort by the next figure",
    "p          pause, and go on",
    "?          this help, and back",
    "q          end",
    "",
    "Rates are means since the picture before. `busy` is the part of the time",
    "that a link was sending, or that a worker moved packets.",
};

std::string TimeOfDay(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  tm local{};
  localtime_r(&seconds, &local);
  return absl::StrFormat("%02d:%02d:%02d", local.tm_hour, local.tm_min, local.tm_sec);
}

}  // namespace

Browser::Browser(const View& first, ViewState state)
    : view_(static_cast<size_t>(&first - Views().data())), states_(Views().size()) {
  for (ViewState& each : states_) each.stage = state.stage;
  states_[view_] = state;
}

void Browser::Take(Sample sample) {
  problem_.clear();
  if (paused_) {
    kept_ = std::move(sample);
  } else {
    Show(std::move(sample));
  }
}

void Browser::Fail(std::string problem) { problem_ = Printable(std::move(problem)); }

void Browser::Show(Sample sample) {
  shown_ = std::move(sample);
  // Another fabric may have fewer stages.
  for (ViewState& state : states_)
    if (state.stage && *state.stage >= shown_->stages) state.stage.reset();
}

void Browser::ChangeTo(size_t view) {
  view_ = view;
  cursor_ = first_ = 0;
}

void Browser::MoveTo(int64_t row) {
  cursor_ = std::clamp<int64_t>(row, 0, std::max<int64_t>(0, std::ssize(stage_of_row_) - 1));
}

void Browser::ZoomIn() {
  if (cursor_ >= std::ssize(stage_of_row_) || !stage_of_row_[static_cast<size_t>(cursor_)]) return;
  const std::optional<uint32_t> stage = stage_of_row_[static_cast<size_t>(cursor_)];
  if (states_[view_].stage == stage) return;
  for (ViewState& state : states_) state.stage = stage;
  cursor_ = first_ = 0;
}

bool Browser::Press(int key) {
  if (key == 'q' || key == 'Q') return false;
  if (help_ && key != '?') {
    help_ = false;
    return true;
  }
  const size_t views = Views().size();
  if (key >= '1' && key < '1' + static_cast<int>(views)) {
    ChangeTo(static_cast<size_t>(key - '1'));
    return true;
  }
  switch (key) {
    case '?':
    case 'h':
      help_ = !help_;
      break;
    case kKeyTab:
      ChangeTo((view_ + 1) % views);
      break;
    case kKeyBackTab:
      ChangeTo((view_ + views - 1) % views);
      break;
    case kKeyUp:
    case 'k':
      MoveTo(cursor_ - 1);
      break;
    case kKeyDown:
    case 'j':
      MoveTo(cursor_ + 1);
      break;
    case kKeyPageUp:
      MoveTo(cursor_ - room_);
      break;
    case kKeyPageDown:
      MoveTo(cursor_ + room_);
      break;
    case kKeyHome:
      MoveTo(0);
      break;
    case kKeyEnd:
      MoveTo(std::ssize(stage_of_row_) - 1);
      break;
    case kKeyEnter:
    case '\r':
    case '+':
      ZoomIn();
      break;
    case kKeyEscape:
    case '-':
      for (ViewState& state : states_) state.stage.reset();
      cursor_ = first_ = 0;
      break;
    case 's':
      if (const size_t sorts = Views()[view_].sorts.size(); sorts > 0)
        states_[view_].sort = (states_[view_].sort + 1) % sorts;
      break;
    case 'p':
    case ' ':
      paused_ = !paused_;
      if (!paused_ && kept_) Show(*std::exchange(kept_, std::nullopt));
      break;
    default:
      break;
  }
  return true;
}

Line Browser::Title(const Canvas& canvas, uint32_t interval_ms) const {
  std::string left = "bfly top";
  std::string right;
  if (shown_ && shown_->loaded) {
    absl::StrAppend(&left, "  ", shown_->name, ": ", shown_->kind, ", ", shown_->rows, " rows, ",
                    shown_->stages, " stages");
    right = absl::StrCat(TimeOfDay(shown_->time_ns), ", every ", 0.001 * interval_ms, " s");
  }
  if (paused_) right = "PAUSED  " + right;
  Line line = {Span{left, Ink::kBold}};
  const uint32_t taken = Width(left) + Width(right);
  const std::string gap(taken < canvas.columns ? canvas.columns - taken : 2, ' ');
  line.push_back({gap});
  line.push_back({right, paused_ ? Ink::kReverse : Ink::kPlain});
  return line;
}

Line Browser::Tabs() const {
  Line line;
  for (size_t i = 0; i < Views().size(); ++i) {
    line.push_back(
        {absl::StrCat(i + 1, " ", Views()[i].name), i == view_ ? Ink::kReverse : Ink::kPlain});
    line.push_back({"  "});
  }
  return line;
}

Line Browser::Account() const {
  const v1::Conservation& account = shown_->account;
  if (account.injected() != account.delivered() + account.dropped() + account.in_flight()) {
    return {Span{absl::StrCat("THE ACCOUNT DOES NOT BALANCE: injected ", account.injected(),
                              ", delivered ", account.delivered(), ", dropped ", account.dropped(),
                              ", in flight ", account.in_flight()),
                 Ink::kBad}};
  }
  std::string text =
      absl::StrFormat("injected %s/s, delivered %s/s, dropped %s/s, in flight %s",
                      Count(shown_->injected), Count(shown_->delivered), Count(shown_->dropped),
                      Count(static_cast<double>(account.in_flight())));
  if (!shown_->host_ports.empty()) absl::StrAppend(&text, ", missed ", Count(shown_->missed), "/s");
  return PlainLine(std::move(text));
}

Line Browser::Foot() const {
  if (!problem_.empty()) return {Span{"OLD FIGURES: " + problem_, Ink::kBad}};
  if (shown_ && !shown_->problems.empty()) return {Span{shown_->problems.front(), Ink::kBad}};
  std::string text = "q end  ? help  Tab view  Enter zoom";
  if (states_[view_].stage)
    absl::StrAppend(&text, "  - all stages (now s", *states_[view_].stage, ")");
  if (const auto& sorts = Views()[view_].sorts; !sorts.empty())
    absl::StrAppend(&text, "  s sort (now ", sorts[states_[view_].sort], ")");
  return {Span{text, Ink::kDim}};
}

ViewPage Browser::PageOf(const Canvas& canvas) const {
  return Views()[view_].draw(*shown_, states_[view_], canvas);
}

std::vector<Line> Browser::Draw(const Canvas& canvas, uint32_t interval_ms) {
  std::vector<Line> lines;
  stage_of_row_.clear();
  if (canvas.columns < kFewestColumns || canvas.lines < kFewestLines) {
    lines.push_back(PlainLine("too small: 80x24 is enough"));
  } else {
    lines.push_back(Title(canvas, interval_ms));
    lines.push_back(Tabs());
    if (help_) {
      for (const char* const text : kHelp) lines.push_back(PlainLine(text));
    } else if (!shown_) {
      lines.push_back(PlainLine("waiting for the controller"));
    } else if (!shown_->loaded) {
      lines.push_back(PlainLine("no fabric is loaded"));
    } else {
      lines.push_back(Account());
      const auto above = static_cast<uint32_t>(lines.size());
      Canvas middle = canvas;
      middle.lines = canvas.lines - above - 1;
      ViewPage page = PageOf(middle);
      for (Line& line : page.head) lines.push_back(std::move(line));
      // The foot of a view gives way to its rows on a low screen. One row and the keys stay.
      const size_t below = page.rows.empty() ? 1 : 2;
      while (!page.foot.empty() && lines.size() + page.foot.size() + below > canvas.lines)
        page.foot.pop_back();
      room_ = std::max<int64_t>(
          1, int64_t{canvas.lines} - 1 - std::ssize(lines) - std::ssize(page.foot));
      for (const ViewRow& row : page.rows) stage_of_row_.push_back(row.stage);
      MoveTo(cursor_);
      first_ = std::clamp(first_, std::max<int64_t>(0, cursor_ - room_ + 1), cursor_);
      first_ = std::min(first_, std::max<int64_t>(0, std::ssize(page.rows) - room_));
      for (int64_t i = first_; i < std::min<int64_t>(first_ + room_, std::ssize(page.rows)); ++i) {
        Line& line = page.rows[static_cast<size_t>(i)].line;
        if (i == cursor_ && !line.empty()) line.front().ink = Ink::kReverse;
        lines.push_back(std::move(line));
      }
      for (Line& line : page.foot) lines.push_back(std::move(line));
    }
    lines.resize(std::min<size_t>(lines.size(), canvas.lines - 1));
    lines.resize(canvas.lines - 1);
    lines.push_back(Foot());
  }
  for (Line& line : lines) line = Cut(line, canvas.columns);
  return lines;
}

std::vector<Line> Browser::Print(const Canvas& canvas, size_t most) const {
  std::vector<Line> lines;
  lines.push_back(
      PlainLine(absl::StrCat(shown_->name, ": ", shown_->kind, ", ", shown_->rows, " rows, ",
                             shown_->stages, " stages, at ", TimeOfDay(shown_->time_ns))));
  lines.push_back(Account());
  ViewPage page = PageOf(canvas);
  for (Line& line : page.head) lines.push_back(std::move(line));
  for (size_t i = 0; i < page.rows.size() && i < most; ++i)
    lines.push_back(std::move(page.rows[i].line));
  if (page.rows.size() > most)
    lines.push_back(PlainLine(absl::StrCat(page.rows.size() - most, " more lines")));
  for (Line& line : page.foot) lines.push_back(std::move(line));
  for (const std::string& problem : shown_->problems) lines.push_back(PlainLine(problem));
  return lines;
}

}  // namespace bfly::control
