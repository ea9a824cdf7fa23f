// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/step_drawing.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "control/measure/steps/step_program.h"

namespace bfly::control {
namespace {

using SeriesJson = nlohmann::ordered_json;

constexpr double kLargestLinearRatio = 20;  // values beyond it get a logarithmic axis

std::string StepText(const SeriesJson& value) {
  return value.is_string() ? absl::StrReplaceAll(value.get<std::string>(), {{"_", " "}})
                           : value.dump();
}

// The rows of `series` that measured the figure in this program.
std::vector<SeriesJson> RowsOfFigure(const SeriesJson& series, const std::string& program,
                                     const std::string& figure) {
  std::vector<SeriesJson> rows;
  for (const SeriesJson& row : series) {
    if (row.at("point").at("program") != program || !row.contains(figure)) continue;
    if (row.at(figure).at("mean").is_number()) rows.push_back(row);
  }
  return rows;
}

// The keys that tell the curves of a panel apart: those with several values, or missing at some
// points.
std::vector<std::string> KeysOfCurves(const StepProgram& program, const StepFigure& figure,
                                      const std::vector<SeriesJson>& rows) {
  std::vector<std::string> keys;
  std::vector<StepKey> all = program.keys;
  all.push_back({.name = "d", .default_value = ""});
  for (const StepKey& key : all) {
    if (key.name == figure.over || key.name == figure.panel) continue;
    std::set<std::string> values;
    for (const SeriesJson& row : rows) {
      values.insert(row.at("point").value(key.name, SeriesJson()).dump());
    }
    if (values.size() > 1) keys.push_back(key.name);
  }
  return keys;
}

std::string StepLabel(const SeriesJson& point, const std::vector<std::string>& keys) {
  std::string label;
  for (const std::string& key : keys) {
    if (!point.contains(key)) continue;
    const bool is_word = point.at(key).is_string();
    absl::StrAppend(&label, label.empty() ? "" : ", ",
                    is_word ? "" : absl::StrReplaceAll(key, {{"_", " "}}) + " = ",
                    StepText(point.at(key)));
  }
  return label;
}

FigurePanel& PanelWith(Figure& figure, const std::string& title) {
  for (FigurePanel& panel : figure.panels) {
    if (panel.title == title) return panel;
  }
  return figure.panels.emplace_back(FigurePanel{title, {}});
}

// Curves with the same label have the same colour in every panel.
FigureCurve& CurveWith(FigurePanel& panel, const std::string& label,
                       std::vector<std::string>& labels) {
  for (FigureCurve& curve : panel.curves) {
    if (curve.label == label) return curve;
  }
  auto at = std::find(labels.begin(), labels.end(), label);
  if (at == labels.end()) at = labels.insert(at, label);
  const auto colour = static_cast<int>(at - labels.begin());
  return panel.curves.emplace_back(FigureCurve{label, colour, {}, {}, {}});
}

Figure DrawStepFigure(const std::string& title, const StepProgram& program, const StepFigure& drawn,
                      const std::vector<SeriesJson>& rows) {
  Figure figure{
      .name = absl::StrReplaceAll(absl::StrCat(program.name, "-", drawn.name), {{"_", "-"}}),
      .title = title,
      .x_label = drawn.over == "d" ? "log₂ n, for n rows" : drawn.over,
      .y_label = drawn.label,
      .bars = "95 % interval",
      .rings = "what the paper gives",
      .whole_x = true,
      .log_y = false,
      .apart = false,
      .columns = 1,
      .panels = {}};
  const std::vector<std::string> keys = KeysOfCurves(program, drawn, rows);
  std::vector<std::string> labels;
  double least = HUGE_VAL, most = 0;
  for (const SeriesJson& row : rows) {
    const SeriesJson& point = row.at("point");
    std::string panel;
    if (point.contains(drawn.panel)) {
      panel = StepLabel(point, {drawn.panel});
    }
    FigureCurve& curve = CurveWith(PanelWith(figure, panel), StepLabel(point, keys), labels);
    const double mean = row.at(drawn.name).at("mean");
    const SeriesJson& half = row.at(drawn.name).at("ci95");
    const double bar = half.is_number() ? half.get<double>() : 0;
    curve.points.push_back({point.at(drawn.over).get<double>(), mean, mean - bar, mean + bar});
    if (drawn.published != nullptr) curve.points.back().exact = drawn.published(point);
    least = std::min(least, mean);
    most = std::max(most, mean);
  }
  for (FigurePanel& panel : figure.panels) {
    for (FigureCurve& curve : panel.curves) {
      std::stable_sort(curve.points.begin(), curve.points.end(),
                       [](const FigurePoint& a, const FigurePoint& b) { return a.x < b.x; });
    }
  }
  figure.log_y = least > 0 && most > kLargestLinearRatio * least;
  figure.columns = std::min(static_cast<int>(figure.panels.size()), 3);
  OffsetCurves(figure, 0.7);
  return figure;
}

}  // namespace

std::vector<Figure> StepFigures(const std::string& title, const SeriesJson& series) {
  std::vector<Figure> figures;
  for (const StepProgram& program : StepPrograms()) {
    for (const StepFigure& drawn : program.figures) {
      const std::vector<SeriesJson> rows = RowsOfFigure(series, program.name, drawn.name);
      if (!rows.empty()) figures.push_back(DrawStepFigure(title, program, drawn, rows));
    }
  }
  return figures;
}

}  // namespace bfly::control
