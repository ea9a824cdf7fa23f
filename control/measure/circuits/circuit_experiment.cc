// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_experiment.h"

#include "absl/strings/str_cat.h"
#include "bfly/v1/circuit_experiment.pb.h"
#include "control/measure/circuits/circuit_claims.h"
#include "control/measure/circuits/circuit_figures.h"
#include "control/measure/circuits/circuit_point.h"
#include "control/measure/circuits/circuit_tables.h"
#include "control/measure/core/curve_rows.h"
#include "control/measure/core/figure_rows.h"

namespace bfly::control {
namespace {

class CircuitExperiment final : public ExperimentOf<v1::CircuitExperiment> {
 public:
  absl::StatusOr<std::vector<Point>> Sweep() const override {
    const absl::StatusOr<std::vector<CircuitPoint>> points = CircuitPointsOf(message());
    if (!points.ok()) return points.status();
    return std::vector<Point>(points->begin(), points->end());
  }

  std::vector<uint64_t> SeedsAt(const Point& point) const override {
    return control::SeedsAt(message(), point.d());
  }

  const std::vector<Claim>& Claims() const override { return CircuitClaims(); }

  absl::StatusOr<Trial> Run(const Point& point, uint64_t seed,
                            const std::function<bool()>&) const override {
    return RunCircuitTrial(point, seed);
  }

  void AddResults(const Report& report, nlohmann::ordered_json& results) const override {
    results["claims_elsewhere"] = report.claims_elsewhere;
    results["comparisons"] = CircuitComparisonsJson(report);
    results["series"] = FigureSeries(report.series, {"congestion", "disk_contention", "rounds"});
    results["fits"] = CircuitFitsJson(report);
  }

  std::vector<std::pair<std::string, std::string>> Files(const Report& report) const override {
    const std::string columns = CircuitCsvColumns(message());
    return {{"results.csv", FigureCsv(columns, report.series)},
            {"claims.txt", ClaimsByCurve(report, "protocol", true)},
            {"tails.txt", TailTable(report)},
            {"comparisons.txt", CircuitComparisonTable(report)},
            {"fits.txt", CircuitFitTable(report)},
            {"set_up_seconds.csv", CircuitSecondsCsv(columns, report)}};
  }

  std::string Summary(const Report& report) const override {
    return absl::StrCat(CircuitFitTable(report), "\n", CircuitComparisonTable(report), "\n",
                        ClaimsByCurve(report, "protocol", false), "\n",
                        CircuitSecondsTable(report));
  }

  absl::StatusOr<std::vector<Figure>> Figures(
      const nlohmann::ordered_json& results) const override {
    return CircuitFigures(message(), results);
  }
};

}  // namespace

std::unique_ptr<Experiment> NewCircuitExperiment() { return std::make_unique<CircuitExperiment>(); }

}  // namespace bfly::control
