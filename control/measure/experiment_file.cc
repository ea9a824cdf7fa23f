// SPDX-License-Identifier: Apache-2.0
#include "control/measure/experiment_file.h"

#include <algorithm>
#include <regex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/json/message_json.h"
#include "control/measure/circuit_claims.h"
#include "control/measure/claim.h"
#include "control/measure/packet_claims.h"
#include "control/measure/settings.h"
#include "control/measure/wall_trial.h"
#include "control/topology_file/reader.h"

namespace bfly::control {
namespace {

constexpr uint64_t kMaxTrials = 100'000;

// A claim that the file names must be known, and apply to some point.
template <typename P>
absl::Status CheckNamed(const std::vector<Claim>& known,
                        const google::protobuf::RepeatedPtrField<std::string>& named,
                        const std::vector<P>& points) {
  const auto claims = ClaimsNamed(known, {named.begin(), named.end()});
  if (!claims.ok()) return claims.status();
  for (int i = 0; i < named.size(); ++i) {
    const Claim& claim = *(*claims)[static_cast<size_t>(i)];
    const bool applies = std::any_of(points.begin(), points.end(),
                                     [&](const P& point) { return WhyNot(claim, point).empty(); });
    if (applies || points.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("claims[", i, "]: \"", named[i],
                     "\" applies to no point of this experiment: ", WhyNot(claim, points[0])));
  }
  return absl::OkStatus();
}

absl::Status CheckExperiment(const v1::Experiment& experiment) {
  if (absl::Status status = CheckAllRules(experiment); !status.ok()) return status;
  const absl::StatusOr<std::vector<PacketPoint>> points = PointsOf(experiment);
  if (!points.ok()) return points.status();
  if (experiment.clock() == v1::Experiment::WALL) {
    for (const PacketPoint& point : *points) {
      if (absl::Status status = CheckWallPoint(experiment, point); !status.ok()) return status;
    }
  }
  if (points->size() * experiment.seeds_size() > kMaxTrials) {
    return absl::InvalidArgumentError(absl::StrCat("all swept values and seeds give ",
                                                   points->size() * experiment.seeds_size(),
                                                   " trials (allowed: 1 to ", kMaxTrials, ")"));
  }
  if (absl::Status status = CheckEffort(experiment, *points); !status.ok()) return status;
  return CheckNamed(PacketClaims(), experiment.claims(), *points);
}

absl::Status CheckCircuits(const v1::CircuitExperiment& experiment) {
  if (absl::Status status = CheckAllRules(experiment); !status.ok()) return status;
  const absl::StatusOr<std::vector<CircuitPoint>> points = CircuitPointsOf(experiment);
  if (!points.ok()) return points.status();
  if (const size_t trials = TrialsOf(experiment, *points); trials > kMaxTrials) {
    return absl::InvalidArgumentError(absl::StrCat("the lists and seeds give ", trials,
                                                   " trials (allowed: 1 to ", kMaxTrials, ")"));
  }
  return CheckNamed(CircuitClaims(), experiment.claims(), *points);
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
