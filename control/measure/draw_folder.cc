// SPDX-License-Identifier: Apache-2.0
#include "control/measure/draw_folder.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/measure/core/journal.h"
#include "control/measure/experiment_file.h"
#include "control/plot/gnuplot.h"

namespace bfly::control {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<std::vector<Figure>> FiguresOf(const std::string& file, const Json& results) {
  const auto experiment = ReadExperiment(file, {});
  if (!experiment.ok()) return experiment.status();
  return (*experiment)->Figures(results);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> DrawFolder(const std::string& folder,
                                                    const std::function<bool()>& interrupted) {
  const std::string results_file = folder + "/results.json";
  const absl::StatusOr<std::string> text = ReadFile(results_file);
  if (!text.ok()) return text.status();
  Json results = Json::parse(*text, nullptr, false);
  absl::StatusOr<std::vector<Figure>> figures = absl::DataLossError("not JSON");
  try {
    if (results.is_object()) figures = FiguresOf(folder + "/experiment.yaml", results);
  } catch (const Json::exception& error) {
    figures = absl::DataLossError(error.what());
  }
  if (absl::IsDataLoss(figures.status())) {
    return absl::DataLossError(absl::StrCat(results_file, ": not the results of a measurement (",
                                            figures.status().message(), ")"));
  }
  if (!figures.ok()) return figures.status();

  std::vector<std::string> drawn;
  for (const Figure& figure : *figures) {
    const std::string script = figure.name + ".gp";
    if (absl::Status status = WriteFile(absl::StrCat(folder, "/", script), GnuplotScript(figure));
        !status.ok()) {
      return status;
    }
    if (absl::Status status = RunGnuplot(folder, script, interrupted); !status.ok()) return status;
    drawn.push_back(script);
  }
  if (results.value("measured", false) && !results.value("complete", false)) {
    results["complete"] = true;
    if (absl::Status status = WriteFile(results_file, results.dump(2) + "\n"); !status.ok()) {
      return status;
    }
  }
  return drawn;
}

}  // namespace bfly::control
