// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/experiment_file.h"

#include <regex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/experiment/circuit_claims.h"
#include "control/experiment/claim.h"
#include "control/experiment/point.h"
#include "control/experiment/settings.h"
#include "control/experiment/wall_trial.h"
#include "control/json/message_json.h"
#include "control/topology_file/reader.h"

namespace bfly::control {
namespace {

constexpr uint64_t kMaxTrials = 100'000;

absl::Status CheckExperiment(const v1::Experiment& experiment) {
  if (absl::Status status = CheckAllRules(experiment); !status.ok()) return status;
  const absl::StatusOr<std::vector<Point>> points = PointsOf(experiment);
  if (!points.ok()) return points.status();
  if (experiment.clock() == v1::Experiment::WALL) {
    for (const Point& point : *points) {
      if (absl::Status status = CheckWallPoint(experiment, point); !status.ok()) return status;
    }
  }
  if (points->size() * experiment.seeds_size() > kMaxTrials) {
    return absl::InvalidArgumentError(absl::StrCat("all swept values and seeds give ",
                                                   points->size() * experiment.seeds_size(),
                                                   " trials (allowed: 1 to ", kMaxTrials, ")"));
  }
  if (absl::Status status = CheckEffort(experiment, *points); !status.ok()) return status;
  const std::vector<std::string> claims(experiment.claims().begin(), experiment.claims().end());
  return ClaimsNamed(claims).status();
}

absl::Status CheckCircuits(const v1::CircuitExperiment& experiment) {
  if (absl::Status status = CheckAllRules(experiment); !status.ok()) return status;
  const absl::StatusOr<std::vector<CircuitPoint>> points = CircuitPointsOf(experiment);
  if (!points.ok()) return points.status();
  if (const size_t trials = TrialsOf(experiment, *points); trials > kMaxTrials) {
    return absl::InvalidArgumentError(absl::StrCat("the lists and seeds give ", trials,
                                                   " trials (allowed: 1 to ", kMaxTrials, ")"));
  }
  return CircuitClaimsNamed({experiment.claims().begin(), experiment.claims().end()}).status();
}

}  // namespace

absl::StatusOr<v1::Experiment> ReadExperiment(const std::string& path,
                                              const std::vector<std::string>& overrides) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  v1::Experiment experiment;
  if (absl::Status status =
          ReadWithSettings(path, *text, "name, network, d and rho", overrides, &experiment,
                           [&] { return CheckExperiment(experiment); });
      !status.ok()) {
    return status;
  }
  return experiment;
}

absl::StatusOr<bool> IsCircuitExperiment(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  // At the start of a line, as YAML or as the JSON that WriteExperiment writes.
  static const std::regex key(R"((^|\n)[ {]*"?protocol"?[ ]*:)");
  return std::regex_search(*text, key);
}

absl::StatusOr<v1::CircuitExperiment> ReadCircuitExperiment(
    const std::string& path, const std::vector<std::string>& overrides) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  v1::CircuitExperiment experiment;
  if (absl::Status status =
          ReadWithSettings(path, *text, "name, protocol and d", overrides, &experiment,
                           [&] { return CheckCircuits(experiment); });
      !status.ok()) {
    return status;
  }
  return experiment;
}

std::string WriteExperiment(const google::protobuf::Message& experiment) {
  // JSON is YAML.
  return ToJson(experiment).dump(2) + "\n";
}

}  // namespace bfly::control
