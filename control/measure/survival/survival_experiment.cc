// SPDX-License-Identifier: Apache-2.0
#include "control/measure/survival/survival_experiment.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "control/measure/core/curve_rows.h"
#include "control/measure/core/figure_rows.h"
#include "control/measure/survival/survival_claims.h"
#include "control/measure/survival/survival_point.h"

namespace bfly::control {
namespace {

using SurvivalJson = nlohmann::ordered_json;

// One line for each point: what was down and what survived, in the mean.
std::string SurvivalTable(const Report& report) {
  std::string text = absl::StrFormat("%-58s %9s %10s %12s %10s\n", "point", "down", "survival",
                                     "cut off", "two paths");
  for (const Measurement& m : report.series) {
    const Estimate survival = m.Over("survival");
    absl::StrAppend(
        &text, absl::StrFormat("%-58s %9.2f %10.6f %12.3f ", m.point.ToString(),
                               m.Over("down").mean, survival.mean, m.Over("cut_off_outputs").mean));
    const Estimate two = m.Over("two_path_survival");
    absl::StrAppend(
        &text,
        std::isnan(two.mean) ? absl::StrFormat("%10s", "") : absl::StrFormat("%10.6f", two.mean),
        "\n");
  }
  return text;
}

FigurePanel& PanelOf(Figure& figure, const std::string& title) {
  for (FigurePanel& panel : figure.panels) {
    if (panel.title == title) return panel;
  }
  return figure.panels.emplace_back(FigurePanel{title, {}});
}

FigureCurve& CurveOf(FigurePanel& panel, const std::string& label) {
  for (FigureCurve& curve : panel.curves) {
    if (curve.label == label) return curve;
  }
  const auto colour = static_cast<int>(panel.curves.size());
  return panel.curves.emplace_back(FigureCurve{label, colour, {}, {}, {}});
}

std::string LabelOf(const SurvivalJson& point) {
  std::string label = absl::StrReplaceAll(point.at("network").get<std::string>(), {{"_", " "}});
  if (point.contains("rate")) {
    absl::StrAppend(&label, ", f = ", RateText(point.at("rate").get<double>()));
  }
  if (point.contains("count")) absl::StrAppend(&label, ", k = ", point.at("count").get<int>());
  return label;
}

class SurvivalExperiment final : public ExperimentOf<v1::SurvivalExperiment> {
 public:
  absl::StatusOr<std::vector<Point>> Sweep() const override {
    const absl::StatusOr<std::vector<SurvivalPoint>> points = SurvivalPointsOf(message());
    if (!points.ok()) return points.status();
    return std::vector<Point>(points->begin(), points->end());
  }

  // Where nothing is drawn all trials are the same.
  std::vector<uint64_t> SeedsAt(const Point& point) const override {
    std::vector<uint64_t> seeds(message().seeds().begin(), message().seeds().end());
    const SurvivalPoint& at = point;
    const bool wired = at.network == NetworkKind::kRandomlyWiredButterfly ||
                       at.network == NetworkKind::kMultibutterfly;
    if (at.rate == 0 && !wired) seeds.resize(1);
    return seeds;
  }

  const std::vector<Claim>& Claims() const override { return SurvivalClaims(); }

  absl::StatusOr<Trial> Run(const Point& point, uint64_t seed,
                            const std::function<bool()>&) const override {
    return RunSurvivalTrial(point, message().list(), seed);
  }

  void AddResults(const Report& report, SurvivalJson& results) const override {
    results["claims_elsewhere"] = report.claims_elsewhere;
    results["series"] = FigureSeries(report.series, {});
  }

  std::vector<std::pair<std::string, std::string>> Files(const Report& report) const override {
    return {{"results.csv", FigureCsv("faults,network,d,multiplicity,rate,count", report.series)},
            {"claims.txt", ClaimsByCurve(report, "faults", true)},
            {"survival.txt", SurvivalTable(report)}};
  }

  std::string Summary(const Report& report) const override {
    return absl::StrCat(SurvivalTable(report), "\n", ClaimsByCurve(report, "faults", false));
  }

  absl::StatusOr<std::vector<Figure>> Figures(const SurvivalJson& results) const override {
    Figure figure{.name = "survival",
                  .title = title(),
                  .x_label = "log₂ n, for n rows",
                  .y_label = "fraction of pairs that still have a path",
                  .bars = "95 % interval",
                  .whole_x = true,
                  .log_y = false,
                  .apart = false,
                  .columns = 1,
                  .panels = {}};
    for (const SurvivalJson& row : results.at("series")) {
      if (!row.contains("survival") || !row.at("survival").at("mean").is_number()) continue;
      const SurvivalJson& point = row.at("point");
      FigureCurve& curve = CurveOf(PanelOf(figure, point.at("faults")), LabelOf(point));
      const double mean = row.at("survival").at("mean");
      const SurvivalJson& half = row.at("survival").at("ci95");
      const double bar = half.is_number() ? half.get<double>() : 0;
      curve.points.push_back({point.at("d").get<double>(), mean, mean - bar, mean + bar});
    }
    if (figure.panels.empty()) return std::vector<Figure>();
    figure.columns = std::min(static_cast<int>(figure.panels.size()), 3);
    OffsetCurves(figure, 0.7);
    return std::vector<Figure>{std::move(figure)};
  }
};

}  // namespace

std::unique_ptr<Experiment> NewSurvivalExperiment() {
  return std::make_unique<SurvivalExperiment>();
}

}  // namespace bfly::control
