// SPDX-License-Identifier: Apache-2.0
#include "control/experiment/experiment_file.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/experiment/claim.h"
#include "control/experiment/point.h"
#include "control/json/message_json.h"
#include "control/topology_file/message_reader.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/schema.h"

namespace bfly::control {
namespace {

constexpr uint64_t kMaxTrials = 100'000;

// "rho=0.5" as the YAML document it stands for. Keys must be new to the document read before: the
// override replaces the whole value.
absl::Status LayOver(const std::string& override, v1::Experiment& experiment) {
  const size_t equals = override.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--set ", override, ": should be key=value, for example rho=0.5 or seeds=[1, 2, 3]"));
  }
  const std::string key = override.substr(0, equals);
  std::string value = override.substr(equals + 1);
  const google::protobuf::FieldDescriptor* field =
      v1::Experiment::descriptor()->FindFieldByName(key);
  // "1,2,3" is how a list is typed in a shell.
  if (field != nullptr && field->is_repeated() && value.find('[') == std::string::npos) {
    value = absl::StrCat("[", value, "]");
  }
  v1::Experiment laid;
  std::vector<Diagnostic> diagnostics;
  MessageReader reader("--set " + override, &diagnostics);
  reader.Read(absl::StrCat(key, ": ", value, "\n"), "a setting", "a key and a value", &laid);
  // Only this key's value is given here: what else is required stands in the file.
  std::erase_if(diagnostics, [&](const Diagnostic& d) {
    return d.field != key && d.field.find(key + "[") != 0 && field != nullptr;
  });
  if (!diagnostics.empty()) return ToStatus(diagnostics);
  if (field != nullptr) experiment.GetReflection()->ClearField(&experiment, field);
  experiment.MergeFrom(laid);
  return absl::OkStatus();
}

absl::Status CheckExperiment(const v1::Experiment& experiment) {
  std::vector<Violation> violations;
  CheckRules(experiment, "", &violations);
  if (!violations.empty()) {
    std::string text;
    for (const Violation& v : violations) absl::StrAppend(&text, v.field, ": ", v.message, "\n");
    text.pop_back();
    return absl::InvalidArgumentError(text);
  }
  const absl::StatusOr<std::vector<Point>> points = PointsOf(experiment);
  if (!points.ok()) return points.status();
  if (points->size() * experiment.seeds_size() > kMaxTrials) {
    return absl::InvalidArgumentError(absl::StrCat("d, p, rho, slot and seeds give ",
                                                   points->size() * experiment.seeds_size(),
                                                   " trials (allowed: 1 to ", kMaxTrials, ")"));
  }
  const std::vector<std::string> claims(experiment.claims().begin(), experiment.claims().end());
  return ClaimsNamed(claims).status();
}

}  // namespace

absl::StatusOr<v1::Experiment> ReadExperiment(const std::string& path,
                                              const std::vector<std::string>& overrides) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  v1::Experiment experiment;
  std::vector<Diagnostic> diagnostics;
  MessageReader reader(path, &diagnostics);
  reader.Read(*text, "an experiment file", "name, network, d and rho", &experiment);
  reader.Sort();
  if (!diagnostics.empty()) return ToStatus(diagnostics);
  for (const std::string& override : overrides) {
    if (absl::Status status = LayOver(override, experiment); !status.ok()) return status;
  }
  FillDefaults(&experiment);
  if (absl::Status status = CheckExperiment(experiment); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  }
  return experiment;
}

std::string WriteExperiment(const v1::Experiment& experiment) {
  // JSON is YAML.
  return ToJson(experiment).dump(2) + "\n";
}

}  // namespace bfly::control
