// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "control/top/browser.h"
#include "tests/unit/top_fixture.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

const Canvas kScreen{.columns = 80, .lines = 24};

// 8 rows, 3 stages, two seconds apart. Stage 1 has the hottest link, row 5 port 1.
Sample BusySample(uint32_t stages = 3) {
  Answers before = TopAnswers(8, stages, 10), now = TopAnswers(8, stages, 12);
  AddTopLink(now, 0, 2, 0, 100);
  AddTopLink(now, 1, 5, 1, 2000).set_occupancy(7);
  AddTopLink(now, 1, 6, 0, 600).add_drops()->set_packets(4);
  v1::Conservation& account = *now.counters.mutable_conservation();
  account.set_injected(2700);
  account.set_delivered(2690);
  account.set_dropped(4);
  account.set_in_flight(6);
  return MakeSample(now, &before, {});
}

Browser Open(const char* view = "overview", ViewState state = {}) {
  Browser browser(*FindView(view), state);
  browser.Take(BusySample());
  return browser;
}

std::vector<std::string> TextOf(const std::vector<Line>& lines) {
  std::vector<std::string> texts;
  for (const Line& line : lines) texts.push_back(PlainText(line));
  return texts;
}
std::vector<std::string> Shown(Browser& browser, const Canvas& canvas = kScreen) {
  return TextOf(browser.Draw(canvas, 1000));
}
// The text of the line that stands in reverse, below the tabs.
std::string Chosen(Browser& browser) {
  const std::vector<Line> lines = browser.Draw(kScreen, 1000);
  for (size_t i = 2; i < lines.size(); ++i)
    if (!lines[i].empty() && lines[i].front().ink == Ink::kReverse) return PlainText(lines[i]);
  return "";
}

TEST(TopOverview, AStageHasItsLoadItsHottestLinkAndAStripOfItsLinks) {
  Browser browser = Open();
  const std::vector<std::string> lines = Shown(browser);
  ASSERT_THAT(lines, SizeIs(24));
  EXPECT_THAT(lines[0], StartsWith("bfly top  lab: butterfly, 8 rows, 3 stages"));
  EXPECT_EQ(lines[2], "injected 1.35k/s, delivered 1.34k/s, dropped 2/s, in flight 6");
  // 1300 packets of 100 bytes a second; 7 wait; 2 of 4 drops a second; row 5's second link is the
  // twelfth of sixteen.
  EXPECT_EQ(lines[5],
            "    1  1.30k  1.04M r5 p1     1.00k/s      7      2    0  "
            "\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u00b7\u2588"
            "\u2582\u00b7\u00b7\u00b7");
  EXPECT_THAT(lines[6], StartsWith("    2      0      0 -"));
}

TEST(TopOverview, ZoomShowsEveryLinkOfTheStageAndBack) {
  Browser browser = Open();
  Shown(browser);
  browser.Press(kKeyDown);
  EXPECT_THAT(Chosen(browser), StartsWith("    1 "));
  browser.Press(kKeyEnter);
  std::vector<std::string> lines = Shown(browser);
  EXPECT_EQ(lines[3], "stage 1: every link by row and port");
  EXPECT_THAT(lines[4], HasSubstr("r0-7"));
  EXPECT_THAT(lines.back(), HasSubstr("now s1"));
  // The other views know the stage too.
  browser.Press('2');
  EXPECT_THAT(Shown(browser),
              AllOf(Contains(HasSubstr("s1 r5 p1")), Not(Contains(HasSubstr("s0 r2 p0")))));
  browser.Press('-');
  EXPECT_THAT(Shown(browser), Contains(HasSubstr("s0 r2 p0")));
}

TEST(TopLinks, AreSortedByTheFigureThatTheKeyChooses) {
  Browser browser = Open("links");
  const auto first = [&browser] { return Shown(browser)[4].substr(0, 8); };
  EXPECT_EQ(first(), "s1 r5 p1");  // load
  EXPECT_THAT(Shown(browser)[4], HasSubstr("none"));
  browser.Press('s');
  EXPECT_EQ(first(), "s1 r5 p1");  // packets
  browser.Press('s');
  EXPECT_EQ(first(), "s1 r5 p1");  // queue
  browser.Press('s');
  EXPECT_EQ(first(), "s1 r6 p0");  // drops
  browser.Press('s');
  browser.Press('s');
  EXPECT_EQ(first(), "s0 r2 p0");  // place
  browser.Press('s');
  EXPECT_THAT(Shown(browser).back(), HasSubstr("now load"));
}

TEST(TopBrowser, KeysChooseViewsInTheirOrder) {
  Browser browser = Open();
  const auto view = [&browser] {
    const std::vector<Line> lines = browser.Draw(kScreen, 1000);
    for (const Span& span : lines[1])
      if (span.ink == Ink::kReverse) return span.text;
    return std::string();
  };
  EXPECT_EQ(view(), "1 overview");
  browser.Press(kKeyTab);
  EXPECT_EQ(view(), "2 links");
  browser.Press(kKeyBackTab);
  browser.Press(kKeyBackTab);
  EXPECT_EQ(view(), "7 drawing");
  for (int key = '1'; key <= '7'; ++key) {
    browser.Press(key);
    EXPECT_EQ(view()[0], key);
  }
  EXPECT_TRUE(browser.Press('8'));
  EXPECT_EQ(view(), "7 drawing");
  EXPECT_FALSE(browser.Press('q'));
}

TEST(TopBrowser, AListScrollsSoThatTheCursorIsSeen) {
  Browser browser(*FindView("overview"), {});
  browser.Take(BusySample(40));
  EXPECT_THAT(Chosen(browser), StartsWith("    0 "));
  for (int i = 0; i < 25; ++i) browser.Press(kKeyDown);
  EXPECT_THAT(Chosen(browser), StartsWith("   25 "));
  browser.Press(kKeyEnd);
  EXPECT_THAT(Chosen(browser), StartsWith("   39 "));
  browser.Press(kKeyDown);
  EXPECT_THAT(Chosen(browser), StartsWith("   39 "));
  // 24 lines without title, tabs, account, heading, legend and keys show 18 stages.
  browser.Press(kKeyPageUp);
  EXPECT_THAT(Chosen(browser), StartsWith("   21 "));
  browser.Press(kKeyHome);
  EXPECT_THAT(Chosen(browser), StartsWith("    0 "));
  EXPECT_THAT(Shown(browser)[21], StartsWith("   17 "));
}

TEST(TopBrowser, APauseKeepsThePictureAndTheNewestSampleComesAfterIt) {
  Browser browser = Open();
  browser.Press('p');
  Sample later = BusySample();
  later.injected = 9999;
  browser.Take(later);
  std::vector<std::string> lines = Shown(browser);
  EXPECT_THAT(lines[0], HasSubstr("PAUSED"));
  EXPECT_THAT(lines[2], StartsWith("injected 1.35k/s"));
  browser.Press('p');
  lines = Shown(browser);
  EXPECT_THAT(lines[0], Not(HasSubstr("PAUSED")));
  EXPECT_THAT(lines[2], StartsWith("injected 10.0k/s"));
}

TEST(TopBrowser, OldFiguresAreSaidToBeOldUntilNewOnesCome) {
  Browser browser = Open();
  browser.Fail("no bfly-controller answers\n  start one");
  EXPECT_EQ(Shown(browser).back(), "OLD FIGURES: no bfly-controller answers?  start one");
  browser.Take(BusySample());
  EXPECT_THAT(Shown(browser).back(), StartsWith("q end"));
}

TEST(TopBrowser, AnAccountThatDoesNotBalanceIsSaid) {
  Browser browser = Open();
  Sample wrong = BusySample();
  wrong.account.set_in_flight(5);
  browser.Take(wrong);
  EXPECT_THAT(Shown(browser)[2], HasSubstr("DOES NOT BALANCE"));
}

TEST(TopBrowser, HelpNamesTheKeysAndAnyKeyEndsIt) {
  Browser browser = Open();
  browser.Press('?');
  EXPECT_THAT(Shown(browser), Contains(HasSubstr("zoom into the stage")));
  browser.Press('5');
  EXPECT_THAT(Shown(browser), Contains(StartsWith("stage pkts/s")));
}

TEST(TopBrowser, EveryViewFitsEveryScreen) {
  for (const View& view : Views()) {
    for (const std::optional<uint32_t> stage : {std::optional<uint32_t>(), std::optional(1u)}) {
      Browser browser = Open(view.name, {.sort = 0, .stage = stage});
      for (const uint32_t columns : {1u, 20u, 40u, 80u, 200u}) {
        for (const uint32_t lines : {1u, 5u, 8u, 24u, 60u}) {
          const std::vector<Line> drawn =
              browser.Draw({.columns = columns, .lines = lines, .colour = true}, 1000);
          EXPECT_LE(drawn.size(), lines) << view.name;
          for (const Line& line : drawn) EXPECT_LE(Width(line), columns) << view.name;
        }
      }
      // 80 columns are enough for the whole of every line of the page.
      for (const Line& line : browser.Print(kScreen, 100))
        EXPECT_LE(Width(line), 80u) << view.name << ": " << PlainText(line);
    }
  }
}

// 24 lines without title, tabs, account, heading, legend and keys have room for 18 rows.
TEST(TopBrowser, ADrawingThatFillsTheScreenKeepsItsLegend) {
  Browser browser(*FindView("drawing"), {});
  Part part;
  for (uint32_t row = 0; row < 18; ++row) part.rows.push_back(row);
  browser.Take(MakeSample(TopAnswers(32, 3, 1), nullptr, part));
  const std::vector<std::string> lines = Shown(browser);
  ASSERT_THAT(lines, SizeIs(24));
  EXPECT_THAT(lines[21], StartsWith(" 17 "));
  EXPECT_THAT(lines[22],
              AllOf(StartsWith("circuits on port 0 and port 1"), HasSubstr("packets/s")));
  EXPECT_THAT(lines[23], StartsWith("q end"));
}

TEST(TopBrowser, AFabricWithFewerStagesEndsTheZoomAndNoFabricIsSaid) {
  Browser browser = Open("overview", {.sort = 0, .stage = 2});
  browser.Take(BusySample(2));
  EXPECT_THAT(Shown(browser).back(), Not(HasSubstr("now s2")));
  browser.Take(MakeSample(Answers(), nullptr, {}));
  EXPECT_EQ(Shown(browser)[2], "no fabric is loaded");
}

TEST(TopWorkers, AreBusyIdleAndBehind) {
  Sample sample = BusySample();
  WorkerSample worker;
  worker.data_plane = "dp0";
  worker.lcore = 1;
  worker.stages = "0-2";
  worker.rows = "all";
  worker.busy = 0.25;
  worker.frames_per_second = 1.5e6;
  worker.cycles_per_hop = 12.34;
  worker.late.set_packets(3);
  worker.late.set_p99_us(1.5);
  worker.late.set_max_us(2500);
  sample.workers = {worker};
  Browser browser(*FindView("workers"), {});
  browser.Take(sample);
  EXPECT_EQ(Shown(browser)[4],
            "dp0         1 0-2     all        25.0%  75.0%    1.50M    12.3  1.50 us  2.50 ms");
}

TEST(TopLinks, OfALargeNetworkHaveWholeNamesAndCounts) {
  Answers now = TopAnswers(1 << 20, 20, 10);
  AddTopRate(now, "15", "", "12500Mbps");
  v1::LinkCounters& link = AddTopLink(now, 15, 65'535, 1, 10'000'000'000);
  link.set_next_row((1 << 20) - 1);
  link.set_bytes(1'000'000'000'000);
  Browser browser(*FindView("links"), {});
  browser.Take(MakeSample(now, nullptr, {}));
  const std::string narrow = Shown(browser)[4];
  EXPECT_THAT(narrow, StartsWith("s15 r65535 p1   r1048575 "));
  EXPECT_THAT(narrow, HasSubstr(" 12.5G "));
  EXPECT_EQ(Width(narrow), 80u);
  const std::string wide = Shown(browser, {.columns = 122, .lines = 24})[4];
  EXPECT_THAT(wide, EndsWith("          10000000000        1000000000000"));
}

TEST(TopWorkers, RowsThatDoNotFitAreMarkedAndStandBelow) {
  Sample sample = BusySample();
  WorkerSample worker;
  worker.data_plane = "dp0";
  worker.stages = "0-2";
  worker.rows = "32768-65535";
  worker.ring_capacity = 8;
  sample.workers = {worker};
  Browser browser(*FindView("workers"), {});
  browser.Take(sample);
  EXPECT_THAT(Shown(browser)[4], HasSubstr(" 32768-65\u2026 "));
  EXPECT_EQ(Shown(browser)[5], "  rows 32768-65535; fullest ring 0 of 8, peak 0");
  EXPECT_THAT(Shown(browser, {.columns = 80, .lines = 24, .utf8 = false})[4],
              HasSubstr(" 32768-65> "));
}

TEST(TopCircuits, RowsThatDoNotFitAreLeftOutWhole) {
  Sample sample = BusySample();
  v1::Circuit circuit;
  for (uint32_t row = 10'000; row < 10'040; ++row) circuit.add_rows(row);
  sample.circuits = {circuit};
  Browser browser(*FindView("circuits"), {});
  browser.Take(sample);
  EXPECT_THAT(Shown(browser)[5], HasSubstr(" 10000 10001 10002 10003 \u2026"));
  EXPECT_EQ(Width(Shown(browser)[5]), 80u);
  // 80 columns of 130: thirteen rows, the blanks between them and the mark.
  EXPECT_THAT(Shown(browser, {.columns = 130, .lines = 24})[5], HasSubstr(" 10012 \u2026"));
  EXPECT_THAT(Shown(browser, {.columns = 300, .lines = 24, .utf8 = false})[5],
              HasSubstr(" 10038 10039 "));
}

TEST(TopCircuits, BrokenOnesStandFirstThenThoseWithTheFullestLinks) {
  Sample sample = BusySample();
  for (const uint64_t id : {1u, 2u, 3u}) {
    v1::Circuit circuit;
    circuit.set_id(id);
    circuit.set_input(static_cast<uint32_t>(4 - id));
    circuit.set_congestion(static_cast<uint32_t>(id));
    if (id == 1) circuit.add_broken();
    sample.circuits.push_back(circuit);
  }
  sample.circuit_counts.set_asked(8);
  sample.circuit_counts.set_blocked(2);
  sample.circuit_counts.set_blocking_ratio(0.25);
  Browser browser(*FindView("circuits"), {});
  browser.Take(sample);
  const std::vector<std::string> lines = Shown(browser);
  EXPECT_THAT(lines[3], HasSubstr("8 asked, 2 blocked (25%)"));
  EXPECT_THAT(lines[5], AllOf(StartsWith("       1 "), HasSubstr("BROKEN")));
  EXPECT_THAT(lines[6], StartsWith("       3 "));
  EXPECT_THAT(lines[7], StartsWith("       2 "));
}

}  // namespace
}  // namespace bfly::control
