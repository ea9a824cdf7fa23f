// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "control/measure/circuits/circuit_point.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

struct DrawnFigure {
  const char* figure;
  const char* label;
  bool log_y;
};
constexpr DrawnFigure kDrawnFigures[] = {
    {"congestion", "congestion", false},
    {"disk_contention", "most paths that end at one disk", false},
    {"rounds", "rounds", false},
    {"steps", "set-up time (steps)", true},
    {"locked", "fraction that got through", false},
    {"refused", "part of the trials refused", false},
};

constexpr double kMostLinear = 20;  // figures that span a larger ratio get a logarithmic axis

std::string Spaced(const std::string& name) { return absl::StrReplaceAll(name, {{"_", " "}}); }

// The values that differ between panels, and the values that differ between the curves of a panel.
struct Facets {
  bool by_permutation = false;
  bool by_protocol = false;
  bool with_c = false;
  bool by_network = false;

  std::string Panel(const Json& point) const {
    if (by_permutation) return Spaced(point.value("permutation", "its own requests"));
    return by_protocol ? Spaced(point.at("protocol")) : "";
  }
  std::string Curve(const Json& point) const {
    std::string label = by_protocol ? "" : Spaced(point.at("protocol"));
    const auto add = [&](const char* key) {
      if (!point.contains(key)) return;
      absl::StrAppend(&label, label.empty() ? "" : ", ", Spaced(key), " = ",
                      point.at(key).get<int>());
    };
    if (with_c) {
      add("c");
      add("c_disk");
    }
    add("q");
    if (by_network) {
      const int links = point.at("multiplicity");
      absl::StrAppend(&label, label.empty() ? "" : ", ", Spaced(point.at("network")),
                      links > 1 ? absl::StrCat(" x", links) : "");
    }
    return label;
  }
};

Facets FacetsOf(const v1::CircuitExperiment& experiment, const Json& series) {
  std::vector<std::string> permutations;
  bool limited = false;
  for (const Json& row : series) {
    const std::string permutation = row.at("point").value("permutation", "");
    if (std::find(permutations.begin(), permutations.end(), permutation) == permutations.end()) {
      permutations.push_back(permutation);
    }
    limited |= row.at("point").contains("q");
  }
  Facets facets{.with_c = GivesThreshold(experiment)};
  facets.by_protocol = limited;
  facets.by_network = !experiment.network().empty();
  facets.by_permutation = permutations.size() > 1 && !limited;
  return facets;
}

// Gives curves with the same label the same colour in every panel.
void PaintByLabel(Figure& figure) {
  std::vector<std::string> labels;
  for (FigurePanel& panel : figure.panels) {
    for (FigureCurve& curve : panel.curves) {
      const auto at = std::find(labels.begin(), labels.end(), curve.label) - labels.begin();
      if (at == static_cast<ptrdiff_t>(labels.size())) labels.push_back(curve.label);
      curve.colour = static_cast<int>(at);
    }
  }
}

bool SpansMuch(const Figure& figure) {
  double least = HUGE_VAL, most = 0;
  for (const FigurePanel& panel : figure.panels) {
    for (const FigureCurve& curve : panel.curves) {
      for (const FigurePoint& point : curve.points) {
        least = std::min(least, point.y);
        most = std::max(most, point.y);
      }
    }
  }
  return least > 0 && most > kMostLinear * least;
}

}  // namespace

absl::StatusOr<std::vector<Figure>> CircuitFigures(const v1::CircuitExperiment& experiment,
                                                   const Json& results) {
  const Json& series = results.at("series");
  const Facets facets = FacetsOf(experiment, series);
  std::vector<Figure> figures;
  for (const DrawnFigure& drawn : kDrawnFigures) {
    Figure figure{.name = drawn.figure,
                  .title = experiment.title().empty() ? experiment.name() : experiment.title(),
                  .x_label = "log₂ n, for n rows",
                  .y_label = drawn.label,
                  .bars = "95 % interval",
                  .whole_x = true,
                  .log_y = drawn.log_y,
                  .apart = false,
                  .columns = 1,
                  .panels = {}};
    for (const Json& row : series) {
      if (!row.contains(drawn.figure) || !row.at(drawn.figure).at("mean").is_number()) continue;
      const Json& point = row.at("point");
      const Json& measured = row.at(drawn.figure);
      const std::string title = facets.Panel(point), label = facets.Curve(point);
      const auto panel =
          std::find_if(figure.panels.begin(), figure.panels.end(),
                       [&](const FigurePanel& known) { return known.title == title; });
      FigurePanel& mine = panel != figure.panels.end()
                              ? *panel
                              : figure.panels.emplace_back(FigurePanel{title, {}});
      const auto curve =
          std::find_if(mine.curves.begin(), mine.curves.end(),
                       [&](const FigureCurve& known) { return known.label == label; });
      FigureCurve& line = curve != mine.curves.end()
                              ? *curve
                              : mine.curves.emplace_back(FigureCurve{label, 0, {}, {}, {}});
      const double mean = measured.at("mean");
      const Json& half = measured.at("ci95");
      const double bar = half.is_number() ? half.get<double>() : 0;
      line.points.push_back({point.at("d").get<double>(), mean, mean - bar, mean + bar});
    }
    if (figure.panels.empty()) continue;
    figure.columns = std::min(static_cast<int>(figure.panels.size()), 3);
    figure.log_y |= SpansMuch(figure);
    PaintByLabel(figure);
    OffsetCurves(figure, 0.7);
    figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace bfly::control
