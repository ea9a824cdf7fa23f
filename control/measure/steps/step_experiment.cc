// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/step_experiment.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bfly/v1/step_experiment.pb.h"
#include "control/measure/core/curve_rows.h"
#include "control/measure/core/figure_rows.h"
#include "control/measure/steps/step_drawing.h"
#include "control/measure/steps/step_fits.h"
#include "control/measure/steps/step_program.h"
#include "control/measure/steps/step_sweep.h"

namespace bfly::control {
namespace {

using StepJson = nlohmann::ordered_json;

std::vector<Claim> ClaimsOfAllPrograms() {
  std::vector<Claim> all;
  for (const StepProgram& program : StepPrograms()) {
    for (Claim& claim : program.claims()) {
      claim.about = [name = program.name, about = claim.about](const StepPoint& point) {
        if (point.program != name) return absl::StrCat("is about program: ", name);
        return about ? about(point) : std::string();
      };
      all.push_back(std::move(claim));
    }
  }
  return all;
}

// One line for each point, with the mean and the largest value of each figure that is drawn.
std::string StepTable(const Report& report) {
  std::string text;
  for (const StepProgram& program : StepPrograms()) {
    std::vector<const Measurement*> measured;
    int width = 24;
    for (const Measurement& m : report.series) {
      const StepPoint& point = m.point;
      if (point.program != program.name) continue;
      measured.push_back(&m);
      width = std::max(width, static_cast<int>(m.point.ToString().size()));
    }
    if (measured.empty()) continue;
    absl::StrAppendFormat(&text, "%-*s", width, "mean (largest)");
    for (const StepFigure& figure : program.figures) {
      absl::StrAppendFormat(&text, " %22s", figure.name);
    }
    for (const Measurement* m : measured) {
      absl::StrAppendFormat(&text, "\n%-*s", width, m->point.ToString());
      for (const StepFigure& figure : program.figures) {
        const std::vector<double> values = m->Measured(figure.name);
        std::string cell = "-";
        if (!values.empty()) {
          cell = absl::StrFormat("%.5g (%.5g)", EstimateMean(values).mean,
                                 *std::max_element(values.begin(), values.end()));
        }
        absl::StrAppendFormat(&text, " %22s", cell);
      }
    }
    absl::StrAppend(&text, "\n");
  }
  return text;
}

// What programs say about all their points.
std::string ProgramTables(const Report& report) {
  std::string text;
  for (const StepProgram& program : StepPrograms()) {
    const std::string table = program.table == nullptr ? "" : program.table(report);
    if (!table.empty()) absl::StrAppend(&text, text.empty() ? "" : "\n", table);
  }
  return text;
}

class StepExperiment final : public ExperimentOf<v1::StepExperiment> {
 public:
  void FillDefaultsOfKind() override { FillStepDefaults(mutable_message()); }

  absl::StatusOr<std::vector<Point>> Sweep() const override {
    const absl::StatusOr<std::vector<StepPoint>> points = StepPointsOf(message());
    if (!points.ok()) return points.status();
    return std::vector<Point>(points->begin(), points->end());
  }

  std::vector<uint64_t> SeedsAt(const Point& point) const override {
    int seeds = message().seeds_size();
    for (const auto& limit : message().seed_limits()) {
      if (point.d() < static_cast<int>(limit.from_d())) continue;
      seeds = std::min(seeds, static_cast<int>(limit.seeds()));
    }
    return {message().seeds().begin(), message().seeds().begin() + seeds};
  }

  const std::vector<Claim>& Claims() const override {
    static const std::vector<Claim> claims = ClaimsOfAllPrograms();
    return claims;
  }

  absl::StatusOr<Trial> Run(const Point& point, uint64_t seed,
                            const std::function<bool()>& interrupted) const override {
    const StepPoint& at = point;
    auto figures = FindStepProgram(at.program)
                       ->run(at, {.seed = seed,
                                  .workers = static_cast<int>(message().workers()),
                                  .interrupted = interrupted,
                                  .shared = &shared_});
    if (!figures.ok()) return figures.status();
    return Trial{.seed = seed, .batch_delays = {}, .figures = *std::move(figures)};
  }

  int TrialsAtOnce(int cpus) const override {
    return std::max(1, cpus / static_cast<int>(message().workers()));
  }

  void AddResults(const Report& report, StepJson& results) const override {
    results["claims_elsewhere"] = report.claims_elsewhere;
    results["fits"] = StepFitsJson(report);
    for (const StepProgram& program : StepPrograms()) {
      if (program.results == nullptr) continue;
      if (StepJson json = program.results(report); !json.empty()) {
        results[program.name] = std::move(json);
      }
    }
    results["series"] = FigureSeries(report.series, {});
  }

  std::vector<std::pair<std::string, std::string>> Files(const Report& report) const override {
    return {{"results.csv", FigureCsv(StepCsvColumns(), report.series)},
            {"claims.txt", ClaimsByCurve(report, "program", true)},
            {"fits.txt", StepFitTable(report) + "\n" + ProgramTables(report)},
            {"series.txt", StepTable(report)}};
  }

  std::string Summary(const Report& report) const override {
    const std::string fits = StepFitTable(report);
    const std::string tables = ProgramTables(report);
    return absl::StrCat(StepTable(report), "\n", fits, fits.empty() ? "" : "\n", tables,
                        tables.empty() ? "" : "\n", ClaimsByCurve(report, "program", false));
  }

  absl::StatusOr<std::vector<Figure>> Figures(const StepJson& results) const override {
    return StepFigures(title(), results.at("series"));
  }

 private:
  mutable SharedFigures shared_;
};

}  // namespace

std::unique_ptr<Experiment> NewStepExperiment() { return std::make_unique<StepExperiment>(); }

}  // namespace bfly::control
