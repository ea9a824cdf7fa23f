// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/top/drawing.h"
#include "control/top/number_text.h"
#include "control/top/shade.h"
#include "tests/unit/top_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;

// The lines of the drawing, as text without colours.
std::vector<std::string> Drawn(const Answers& now, const Answers* before, const Part& part,
                               uint32_t columns, uint32_t lines) {
  std::vector<std::string> texts;
  for (const Line& line : DrawCongestion(MakeField(MakeSample(now, before, part)),
                                         {.columns = columns, .lines = lines}))
    texts.push_back(PlainText(line));
  return texts;
}

void AddCircuits(Answers& answers, uint32_t stage, uint32_t row, uint32_t port, uint32_t circuits,
                 uint64_t packets) {
  AddTopLink(answers, stage, row, port, packets).set_circuits(circuits);
}

TEST(DrawCongestion, ShowsCircuitsOfBothLinksOfEachNode) {
  Answers now = TopAnswers(2, 2, 1);
  AddCircuits(now, 0, 0, 1, 1, 0);
  AddCircuits(now, 1, 1, 0, 2, 0);
  AddCircuits(now, 1, 1, 1, 12, 0);  // more than one figure
  const std::vector<std::string> lines = Drawn(now, nullptr, {}, 60, 10);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "row s0   s1   ");
  EXPECT_EQ(lines[1], "  0 \u00b7 1  \u00b7 \u00b7  ");
  EXPECT_EQ(lines[2], "  1 \u00b7 \u00b7  2 +  ");
  EXPECT_THAT(lines[3], HasSubstr("port 0 and port 1"));
}

TEST(DrawCongestion, TheBusiestLinkHasTheFullestShade) {
  const Answers before = TopAnswers(2, 1, 1);
  Answers now = TopAnswers(2, 1, 2);
  AddCircuits(now, 0, 0, 0, 1, 1000);
  AddCircuits(now, 0, 0, 1, 1, 100);
  AddCircuits(now, 0, 1, 0, 1, 0);
  const std::vector<std::string> lines = Drawn(now, &before, {}, 60, 10);
  EXPECT_EQ(lines[1], "  0 1\u25881\u2581 ");
  EXPECT_EQ(lines[2], "  1 1 \u00b7  ");
  // On a terminal with colours the background says it.
  const std::vector<Line> coloured = DrawCongestion(MakeField(MakeSample(now, &before, {})),
                                                    {.columns = 60, .lines = 10, .colour = true});
  ASSERT_THAT(coloured[1], SizeIs(4));
  EXPECT_EQ(coloured[1][1], (Span{" 1 ", Ink::kShade4}));
  EXPECT_EQ(coloured[1][2], (Span{" 1 ", Ink::kShade0}));
}

TEST(DrawCongestion, RowsAreGroupedUntilTheyFitAndAGroupShowsItsFullestLink) {
  Answers now = TopAnswers(64, 1, 1);
  AddCircuits(now, 0, 5, 0, 3, 0);
  AddCircuits(now, 0, 6, 0, 1, 0);
  const std::vector<std::string> lines = Drawn(now, nullptr, {}, 80, 10);
  ASSERT_EQ(lines.size(), 10u);  // heading, 8 groups of 8 rows, legend
  EXPECT_EQ(lines[1], "  0-7 3 \u00b7  ");
  EXPECT_THAT(lines.back(), HasSubstr("fullest link of each group"));
}

TEST(DrawCongestion, NoLineIsWiderThanTheTerminal) {
  const Answers before = TopAnswers(1024, 40, 1);
  Answers now = TopAnswers(1024, 40, 2);
  for (uint32_t stage = 0; stage < 40; ++stage)
    AddCircuits(now, stage, stage, 1, stage, 100 * stage);
  const CongestionField field = MakeField(MakeSample(now, &before, {}));
  for (const bool colour : {false, true}) {
    for (const uint32_t columns : {20, 40, 80, 120, 300}) {
      for (const uint32_t lines : {3, 10, 24, 2000}) {
        const std::vector<Line> drawn =
            DrawCongestion(field, {.columns = columns, .lines = lines, .colour = colour});
        EXPECT_THAT(drawn, SizeIs(Le(std::max(lines, 3u))));
        for (const Line& line : drawn) EXPECT_LE(Width(line), columns);
      }
    }
  }
}

TEST(DrawCongestion, SaysWhichStagesDoNotFit) {
  EXPECT_THAT(Drawn(TopAnswers(16, 40, 1), nullptr, {}, 100, 30).back(),
              HasSubstr("stages 32-39 need a wider terminal"));
}

TEST(DrawCongestion, APartHasItsOwnRowsAndStagesAndNoOthers) {
  Answers now = TopAnswers(16, 4, 1);
  AddCircuits(now, 2, 9, 0, 3, 0);
  AddCircuits(now, 2, 8, 1, 1, 0);  // not asked for
  AddCircuits(now, 0, 9, 1, 7, 0);  // not asked for
  const std::vector<std::string> lines =
      Drawn(now, nullptr, {.stages = {2, 3}, .rows = {4, 9, 12, 99}, .ports = {}}, 60, 10);
  ASSERT_EQ(lines.size(), 5u);  // heading, rows 4, 9 and 12, legend
  EXPECT_EQ(lines[0], "row s2   s3   ");
  EXPECT_EQ(lines[1], "  4 \u00b7 \u00b7  \u00b7 \u00b7  ");
  EXPECT_EQ(lines[2], "  9 3 \u00b7  \u00b7 \u00b7  ");
  EXPECT_EQ(lines[3], " 12 \u00b7 \u00b7  \u00b7 \u00b7  ");
}

TEST(DrawCongestion, APartHasItsOwnPortsAndNoOthers) {
  Answers now = TopAnswers(2, 1, 1);
  now.fabric.set_ports(4);
  AddCircuits(now, 0, 0, 0, 5, 0);  // not asked for
  AddCircuits(now, 0, 0, 1, 1, 0);
  AddCircuits(now, 0, 1, 3, 2, 0);
  const std::vector<std::string> lines =
      Drawn(now, nullptr, {.stages = {}, .rows = {}, .ports = {1, 3, 9}}, 60, 10);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[1], "  0 1 \u00b7  ");
  EXPECT_EQ(lines[2], "  1 \u00b7 2  ");
  EXPECT_THAT(lines[3], HasSubstr("circuits on port 1 and port 3; "));
  EXPECT_THAT(Drawn(now, nullptr, {.stages = {}, .rows = {}, .ports = {0}}, 60, 10),
              ElementsAre("row s0 ", "  0 5  ", "  1 \u00b7  ", HasSubstr("circuits on port 0; ")));
  EXPECT_THAT(Drawn(now, nullptr, {}, 60, 10).back(), HasSubstr("circuits on ports 0-3; "));
}

TEST(DrawCongestion, AnOddNumberOfRowsIsGroupedToTheEnd) {
  Answers now = TopAnswers(16, 1, 1);
  AddCircuits(now, 0, 14, 0, 4, 0);
  const std::vector<std::string> lines =
      Drawn(now, nullptr, {.stages = {}, .rows = {0, 2, 4, 6, 14}, .ports = {}}, 60, 5);
  ASSERT_EQ(lines.size(), 5u);  // heading, 2 + 2 + 1 rows, legend
  EXPECT_EQ(lines[1], "  0-2 \u00b7 \u00b7  ");
  EXPECT_EQ(lines[3], "14-14 4 \u00b7  ");
}

TEST(HeatStrip, IsALinkAColumnOrTheHottestOfNeighbours) {
  const Canvas canvas;
  const auto strip = [&canvas](const std::vector<float>& values, uint32_t cells) {
    return PlainText(HeatStrip(values, cells, 1, canvas));
  };
  EXPECT_EQ(strip({0, 0.19f, 0.21f, 1}, 10), "\u00b7\u2581\u2582\u2588");
  // Six values in four columns: the first is alone, then two, one and two.
  EXPECT_EQ(strip({0, 1, 0, 0, 0, 0.1f}, 4), "\u00b7\u2588\u00b7\u2581");
  EXPECT_EQ(strip({}, 4), "");
  EXPECT_EQ(PlainText(HeatStrip({0, 1}, 4, 1, {.utf8 = false})), ".#");
}

TEST(Width, CountsCharactersAndNotBytes) {
  EXPECT_EQ(Width("abc"), 3u);
  EXPECT_EQ(Width("\u00b7\u2588"), 2u);
  EXPECT_EQ(PlainText(Cut({{"ab\u00b7"}, {"cd", Ink::kBad}}, 4)), "ab\u00b7c");
  EXPECT_EQ(Cut({{"ab"}, {"cd", Ink::kBad}}, 3).back().ink, Ink::kBad);
}

TEST(Count, HasThreeSignificantFigures) {
  EXPECT_EQ(Count(0), "0");
  EXPECT_EQ(Count(999), "999");
  EXPECT_EQ(Count(1000), "1.00k");
  EXPECT_EQ(Count(12345), "12.3k");
  EXPECT_EQ(Count(999'600), "1.00M");
  EXPECT_EQ(Count(7.25e9), "7.25G");
  EXPECT_EQ(Nanoseconds(812), "812 ns");
  EXPECT_EQ(Nanoseconds(7'250'000), "7.25 ms");
  EXPECT_EQ(Percent(0.125), "12.5%");
  EXPECT_EQ(Percent(1), "100%");
  EXPECT_EQ(Percent(std::nullopt), "-");
}

}  // namespace
}  // namespace bfly::control
