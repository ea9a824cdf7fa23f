// SPDX-License-Identifier: Apache-2.0
// Axes, labels that don't overlap, and the gnuplot script of a figure.
#include "control/plot/figure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "control/plot/axis.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;

std::vector<double> Tics(double low, double high, Scale scale, int most) {
  return AxisOf({low, high}, scale, 0, 0, most).tics;
}

TEST(Axis, TicsStandAtRoundNumbers) {
  const auto near = [](std::vector<double> tics) { return Pointwise(DoubleNear(1e-9), tics); };
  EXPECT_THAT(Tics(0.3, 1.1, Scale::kLinear, 5), near({0.4, 0.6, 0.8, 1}));
  EXPECT_THAT(Tics(0, 1, Scale::kLinear, 5), near({0, 0.2, 0.4, 0.6, 0.8, 1}));
  EXPECT_THAT(Tics(1, 100, Scale::kLog, 7), near({1, 2, 5, 10, 20, 50, 100}));
  EXPECT_THAT(Tics(1, 1e6, Scale::kLog, 7), near({1, 10, 100, 1e3, 1e4, 1e5, 1e6}));
  EXPECT_THAT(Tics(1, 1e6, Scale::kLog, 5), near({1, 100, 1e4, 1e6}));
  EXPECT_THAT(Tics(3, 5, Scale::kLog, 5), near({3, 3.5, 4, 4.5, 5}));
  EXPECT_THAT(Tics(4, 7, Scale::kWhole, 6), near({4, 5, 6, 7}));
  EXPECT_THAT(Tics(6, 20, Scale::kWhole, 6), near({10, 15, 20}));
}

TEST(Axis, HoldsEveryValueAndAFlatCurveToo) {
  const Axis log = AxisOf({2, 8, std::nan(""), -1}, Scale::kLog, 0.5, 0.5, 5);
  EXPECT_NEAR(log.low, 1, 1e-12);  // half of the two doublings between 2 and 8, on either side
  EXPECT_NEAR(log.high, 16, 1e-12);
  EXPECT_NEAR(log.Place(4), 0.5, 1e-12);
  EXPECT_NEAR(log.At(0.75), 8, 1e-12);
  const Axis flat = AxisOf({1, 1}, Scale::kLinear, 0, 0, 5);
  EXPECT_LT(flat.low, 1);
  EXPECT_GT(flat.high, 1);
  EXPECT_FALSE(flat.tics.empty());
}

// 0.1 and its neighbour differ by less than a step of the tics can add to 0.1.
TEST(Axis, ValuesThatDifferInTheirLastDigitsAreAFlatCurve) {
  const Axis axis = AxisOf({0.1, std::nextafter(0.1, 0)}, Scale::kLinear, 0.06, 0.08, 5);
  EXPECT_GE(axis.tics.size(), 2u);
  EXPECT_LE(axis.tics.size(), 6u);
  EXPECT_LT(axis.low, 0.09);
  EXPECT_GT(axis.high, 0.11);
}

TEST(SpreadLabels, LabelsKeepTheirDistanceAndTheirOrder) {
  const auto near = [](std::vector<double> places) { return Pointwise(DoubleNear(1e-9), places); };
  EXPECT_THAT(SpreadLabels({0.2, 0.8}, 0.1), near({0.2, 0.8}));
  // Two that want the same place stand half a gap on either side of it.
  EXPECT_THAT(SpreadLabels({0.5, 0.5}, 0.1), near({0.45, 0.55}));
  EXPECT_THAT(SpreadLabels({0.55, 0.5, 0.45}, 0.1), near({0.6, 0.5, 0.4}));
  // At the ends they stay inside.
  EXPECT_THAT(SpreadLabels({1, 1, 0}, 0.1), near({0.9, 1, 0}));
  EXPECT_THAT(SpreadLabels({0, 0.05, 0.12}, 0.1), near({0, 0.1, 0.2}));
  // More than fit are spread evenly.
  EXPECT_THAT(SpreadLabels({0.3, 0.3, 0.3}, 0.9), near({0, 0.5, 1}));
  EXPECT_THAT(SpreadLabels({}, 0.1), ElementsAre());
}

Figure Small() {
  FigureCurve curve{.label = "FIFO", .colour = 0, .points = {}, .saturated = {1.1}, .bounds = {}};
  curve.points = {{0.3, 2, 1.9, 2.1}, {0.6, 4, 3.5, 4.5, 4.25}};
  curve.bounds = {{0.3, 1, 3}, {0.6, 2, 6}};
  return {.name = "delay",
          .title = "It's a test",
          .x_label = "load",
          .y_label = "delay",
          .bars = "95 % interval",
          .log_y = true,
          .columns = 1,
          .panels = {{"d = 4", {curve}}}};
}

// The lines of the data block that the first plot command with `style` draws.
std::string DataOf(const std::string& script, const std::string& style) {
  const size_t at = script.find(style);
  if (at == std::string::npos) return "no plot " + style;
  const size_t name = script.rfind('$', at);
  const std::string block =
      script.substr(name, script.find_first_not_of("0123456789", name + 2) - name);
  const std::string open = block + " << EOD\n";
  const size_t start = script.find(open) + open.size();
  return script.substr(start, script.find("EOD\n", start) - start);
}

TEST(GnuplotScript, SaturatedPointsAreMarkedAndNotJoined) {
  const std::string script = GnuplotScript(Small());
  EXPECT_EQ(DataOf(script, " using 1:2 with lines lw 1.8"), "0.3 2 1.9 2.1\n0.6 4 3.5 4.5\n");
  EXPECT_EQ(DataOf(script, " using 1:3:(0):($4-$3) with vectors"),
            DataOf(script, " using 1:2 with lines lw 1.8"));
  EXPECT_THAT(DataOf(script, " with points pt 8"), testing::StartsWith("1.1 "));
  EXPECT_THAT(script, HasSubstr("'saturated: no stationary mean'"));
  Figure stationary = Small();
  stationary.panels[0].curves[0].saturated.clear();
  EXPECT_THAT(GnuplotScript(stationary),
              AllOf(Not(HasSubstr("saturated")), Not(HasSubstr("pt 8"))));
}

TEST(GnuplotScript, BoundsAreABandAndExactValuesRings) {
  const std::string script = GnuplotScript(Small());
  EXPECT_EQ(DataOf(script, " using 1:2:3 with filledcurves"), "0.3 1 3\n0.6 2 6\n");
  EXPECT_EQ(DataOf(script, " with points pt 6"), "0.6 4.25\n");
}

// Two seeds with means 10 and 14: the interval is 12 +- 25.
TEST(GnuplotScript, OnALogarithmicAxisABarThatReachesZeroBeginsAtTheEdge) {
  Figure figure = Small();
  figure.panels[0].curves[0].points[1] = {0.6, 12, -13, 37};
  const std::string script = GnuplotScript(figure);
  double x = 0, mean = 0, low = 0, high = 0, edge = 0;
  const std::string bars = DataOf(script, " using 1:3:(0):($4-$3) with vectors");
  ASSERT_EQ(sscanf(bars.c_str(), "0.3 2 1.9 2.1\n%lf %lf %lf %lf", &x, &mean, &low, &high), 4);
  const size_t range = script.find("set yrange [");
  ASSERT_NE(range, std::string::npos);
  ASSERT_EQ(sscanf(script.c_str() + range, "set yrange [%lf:", &edge), 1);
  EXPECT_GT(edge, 0);
  EXPECT_EQ(low, edge);
  EXPECT_EQ(high, 37);
  figure.log_y = false;
  EXPECT_THAT(GnuplotScript(figure), HasSubstr("\n0.6 12 -13 37\n"));
}

// A hypercube's packets that all stay take no time.
TEST(GnuplotScript, OnALogarithmicAxisTheLabelOfACurveThatEndsAtZeroStandsAtTheBottom) {
  Figure figure = Small();
  figure.panels[0].curves[0].points[1] = {0.6, 0, 0, 0};
  const std::string script = GnuplotScript(figure);
  EXPECT_THAT(script, HasSubstr("set label 'FIFO' at graph 1.0, graph 0.00000 left"));
  EXPECT_THAT(script, Not(HasSubstr("inf")));
}

// What stands at the tics of the first panel's y axis.
std::vector<std::string> TicTexts(const std::string& script) {
  const size_t begin = script.find("set ytics");
  const std::string line = script.substr(begin, script.find('\n', begin) - begin);
  std::vector<std::string> texts;
  for (size_t at = line.find('\''); at != std::string::npos; at = line.find('\'', at + 1)) {
    const size_t end = line.find('\'', at + 1);
    texts.push_back(line.substr(at + 1, end - at - 1));
    at = end;
  }
  return texts;
}

TEST(GnuplotScript, NoTwoTicsHaveTheSameText) {
  Figure figure = Small();
  figure.log_y = false;
  figure.panels[0].curves[0] = {
      .label = "",
      .colour = 0,
      .points = {{0, 123'000, 123'000, 123'000}, {1, 124'000, 124'000, 124'000}},
      .saturated = {},
      .bounds = {}};
  EXPECT_THAT(
      TicTexts(GnuplotScript(figure)),
      ElementsAre("1.23·10^{5}", "1.2325·10^{5}", "1.235·10^{5}", "1.2375·10^{5}", "1.24·10^{5}"));
}

TEST(GnuplotScript, DrawsForLightAndDarkPagesAndQuotesWhatAUserWrote) {
  const std::string script = GnuplotScript(Small());
  EXPECT_THAT(script, HasSubstr("'It''s a test'"));
  EXPECT_THAT(script, HasSubstr("for [look in 'light dark']"));
  EXPECT_THAT(script, HasSubstr("for [kind in 'svg png']"));
  EXPECT_THAT(script, HasSubstr("set label 'FIFO'"));
}

TEST(OffsetCurves, MovesTheMeansOfCurvesOfOnePanelAndSaysSo) {
  Figure figure = Small();
  OffsetCurves(figure, 0.1);
  EXPECT_FALSE(figure.apart);  // one curve alone stays where it is
  EXPECT_EQ(figure.panels[0].curves[0].points[0].x, 0.3);
  figure.panels[0].curves.push_back(figure.panels[0].curves[0]);
  OffsetCurves(figure, 0.1);
  EXPECT_NEAR(figure.panels[0].curves[0].points[0].x, 0.275, 1e-12);
  EXPECT_NEAR(figure.panels[0].curves[1].points[0].x, 0.325, 1e-12);
  EXPECT_EQ(figure.panels[0].curves[1].bounds[0].x, 0.3);
  EXPECT_THAT(GnuplotScript(figure), HasSubstr("curves set apart sideways"));
}

}  // namespace
}  // namespace bfly::control
