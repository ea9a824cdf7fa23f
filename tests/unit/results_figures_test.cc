// SPDX-License-Identifier: Apache-2.0
// The panels and curves that the results of a measurement give.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "control/measure/circuits/circuit_figures.h"
#include "control/measure/packets/delay_figures.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;
using testing::ElementsAre;

v1::Experiment Butterfly() {
  v1::Experiment experiment;
  experiment.set_name("small");
  experiment.add_network(v1::BUTTERFLY);
  experiment.add_d(1);
  experiment.add_d(4);
  experiment.add_p(0.25);
  experiment.add_p(0.5);
  experiment.add_rho(0.9);
  experiment.add_rho(0.3);
  experiment.add_rho(1.1);
  experiment.add_slot(0);
  experiment.add_discipline(v1::Experiment::FIFO);
  experiment.add_seeds(1);
  return experiment;
}

// Twelve points in the order of the experiment: d, p, rho.
Json Results() {
  Json series = Json::array();
  for (int i = 0; i < 12; ++i) {
    Json row{
        {"point", {{"i", i}}}, {"mean_delay", 10 + i}, {"ci95", 0.5}, {"saturated", i % 3 == 2}};
    if (i == 1) row["ci95"] = nullptr;  // one trial has no interval
    series.push_back(row);
  }
  const Json exact{
      {"id", "butterfly_exact_d1"}, {"point", {{"i", 0}}}, {"verdict", "PASS"}, {"theory", 5.5}};
  Json unapplied = exact;
  unapplied["verdict"] = "NOT APPLICABLE";
  unapplied["point"]["i"] = 3;
  return {{"series", series}, {"claims", {exact, unapplied}}};
}

TEST(DelayFigures, APanelForEachSizeAndP) {
  const auto figures = DelayFigures(Butterfly(), Results());
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 1u);
  const Figure& figure = figures->front();
  EXPECT_EQ(figure.name, "delay");
  EXPECT_EQ(figure.title, "small");
  EXPECT_EQ(figure.columns, 2);
  std::vector<std::string> titles;
  for (const FigurePanel& panel : figure.panels) titles.push_back(panel.title);
  EXPECT_THAT(titles, ElementsAre("d = 1, p = 0.25", "d = 1, p = 0.5", "d = 4, p = 0.25",
                                  "d = 4, p = 0.5"));
  const FigurePanel& first = figure.panels[0];
  ASSERT_EQ(first.curves.size(), 1u);
  EXPECT_EQ(first.curves[0].label, "");
  // In the order of the load, the saturated point apart.
  ASSERT_EQ(first.curves[0].points.size(), 2u);
  EXPECT_EQ(first.curves[0].points[0].x, 0.3);
  EXPECT_EQ(first.curves[0].points[0].y, 11);
  EXPECT_EQ(first.curves[0].points[0].low, 11);
  EXPECT_TRUE(std::isnan(first.curves[0].points[0].exact));
  EXPECT_EQ(first.curves[0].points[1].x, 0.9);
  EXPECT_EQ(first.curves[0].points[1].low, 9.5);
  EXPECT_EQ(first.curves[0].points[1].high, 10.5);
  EXPECT_EQ(first.curves[0].points[1].exact, 5.5);
  EXPECT_THAT(first.curves[0].saturated, ElementsAre(1.1));
  EXPECT_TRUE(std::isnan(figure.panels[1].curves[0].points[1].exact));
}

// At p = 1/2 and d = 4 both kinds of links have the load rho: Proposition 14 gives
// 4 + rho / (2 (1 - rho)), Proposition 17 gives 4 / (1 - rho).
TEST(DelayFigures, BoundsGoOnBetweenTheMeasuredLoads) {
  const auto figures = DelayFigures(Butterfly(), Results());
  ASSERT_TRUE(figures.ok()) << figures.status();
  const std::vector<FigureBounds>& bounds = figures->front().panels[3].curves[0].bounds;
  ASSERT_GT(bounds.size(), 20u);
  EXPECT_NEAR(bounds.front().x, 0.3, 1e-9);
  EXPECT_GT(bounds.back().x, 0.99);
  EXPECT_LT(bounds.back().x, 1);
  for (size_t i = 0; i < bounds.size(); ++i) {
    const double rho = bounds[i].x;
    EXPECT_NEAR(bounds[i].lower / (4 + rho / (2 * (1 - rho))), 1, 1e-9);
    EXPECT_NEAR(bounds[i].upper / (4 / (1 - rho)), 1, 1e-9);
    if (i > 0) {
      EXPECT_LT(bounds[i - 1].x, rho);
    }
  }
}

TEST(DelayFigures, SlotsAndDisciplinesAreCurvesWithLabels) {
  v1::Experiment experiment = Butterfly();
  experiment.add_slot(0.5);
  experiment.add_discipline(v1::Experiment::PROCESSOR_SHARING);
  experiment.mutable_d()->Truncate(1);
  experiment.mutable_p()->Truncate(1);
  experiment.mutable_rho()->Truncate(2);
  Json results = Results();
  results["series"].erase(results["series"].begin() + 8, results["series"].end());
  const auto figures = DelayFigures(experiment, results);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->front().panels.size(), 1u);
  std::vector<std::string> labels;
  std::vector<int> colours;
  for (const FigureCurve& curve : figures->front().panels[0].curves) {
    labels.push_back(curve.label);
    colours.push_back(curve.colour);
  }
  EXPECT_THAT(labels, ElementsAre("FIFO, no slots", "sharing, no slots", "FIFO, slot 0.5",
                                  "sharing, slot 0.5"));
  EXPECT_THAT(colours, ElementsAre(0, 1, 2, 3));
}

TEST(DelayFigures, ResultsOfAnotherExperimentAreRefused) {
  v1::Experiment experiment = Butterfly();
  experiment.mutable_d()->Truncate(1);
  EXPECT_EQ(DelayFigures(experiment, Results()).status().code(), absl::StatusCode::kDataLoss);
}

Json CircuitRow(const char* protocol, const char* permutation, int d, double congestion) {
  return {{"point", {{"protocol", protocol}, {"d", d}, {"permutation", permutation}}},
          {"congestion", {{"mean", congestion}, {"ci95", 0.25}}}};
}

TEST(CircuitFigures, APanelForEachPermutationAndACurveForEachProtocol) {
  const Json results{
      {"series",
       {CircuitRow("one_choice", "bitrev", 4, 2), CircuitRow("one_choice", "bitrev", 6, 3),
        CircuitRow("one_choice", "identity", 4, 2), CircuitRow("greedy", "bitrev", 4, 4),
        CircuitRow("greedy", "identity", 4, 1)}}};
  const auto figures = CircuitFigures(v1::CircuitExperiment(), results);
  ASSERT_TRUE(figures.ok()) << figures.status();
  ASSERT_EQ(figures->size(), 1u);  // nothing else was measured
  const Figure& figure = figures->front();
  EXPECT_EQ(figure.name, "congestion");
  EXPECT_FALSE(figure.log_y);
  ASSERT_EQ(figure.panels.size(), 2u);
  EXPECT_EQ(figure.panels[0].title, "bitrev");
  EXPECT_EQ(figure.panels[1].title, "identity");
  ASSERT_EQ(figure.panels[0].curves.size(), 2u);
  const FigureCurve& curve = figure.panels[0].curves[0];
  EXPECT_EQ(curve.label, "one choice");
  ASSERT_EQ(curve.points.size(), 2u);
  EXPECT_EQ(curve.points[1].low, 2.75);
  EXPECT_EQ(curve.points[1].high, 3.25);
  EXPECT_EQ(figure.panels[0].curves[1].colour, figure.panels[1].curves[1].colour);
}

TEST(CircuitFigures, WhatSpansMuchHasALogarithmicAxis) {
  const Json results{
      {"series", {CircuitRow("greedy", "bitrev", 4, 2), CircuitRow("greedy", "bitrev", 14, 64)}}};
  const auto figures = CircuitFigures(v1::CircuitExperiment(), results);
  ASSERT_TRUE(figures.ok()) << figures.status();
  EXPECT_TRUE(figures->front().log_y);
}

}  // namespace
}  // namespace bfly::control
