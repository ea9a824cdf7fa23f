// SPDX-License-Identifier: Apache-2.0
#include "control/measure/experiment_file.h"

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "control/json/message_json.h"
#include "control/measure/core/sweep.h"
#include "control/measure/kinds.h"
#include "control/measure/settings.h"
#include "control/topology_file/reader.h"
#include "google/protobuf/text_format.h"

namespace bfly::control {
namespace {

const Kind& KindOf(const std::string& text) {
  const auto has_key = [&](const Kind& kind) {
    // The key stands at the start of a line, as YAML or as the JSON that WriteExperiment writes.
    return kind.key == nullptr ||
           std::regex_search(text,
                             std::regex(absl::StrCat(R"((^|\n)[ {]*"?)", kind.key, R"("?[ ]*:)")));
  };
  return *std::find_if(Kinds().begin(), Kinds().end(), has_key);
}

// Returns the first value that stands a second time in the list `field`, as "d[3]: 2"; empty if all
// differ.
std::string RepeatedValue(const google::protobuf::Message& message,
                          const google::protobuf::FieldDescriptor& field) {
  std::set<std::string> seen;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    std::string value;
    google::protobuf::TextFormat::PrintFieldValueToString(message, &field, i, &value);
    if (field.enum_type() != nullptr) absl::AsciiStrToLower(&value);
    if (!seen.insert(value).second) return absl::StrCat(field.name(), "[", i, "]: ", value);
  }
  return "";
}

absl::Status CheckSeedsDiffer(const google::protobuf::Message& message) {
  const auto* seeds = message.GetDescriptor()->FindFieldByName("seeds");
  const std::string repeated = RepeatedValue(message, *seeds);
  if (repeated.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(repeated, " is listed twice; trials with the same seed are not independent"));
}

// Points are equal if results.json writes the same of them.
absl::Status CheckPointsDiffer(const google::protobuf::Message& message,
                               const std::vector<Point>& points) {
  std::set<std::string> seen;
  const auto is_new = [&](const Point& point) { return seen.insert(point.json().dump()).second; };
  const auto twice = std::find_if_not(points.begin(), points.end(), is_new);
  if (twice == points.end()) return absl::OkStatus();
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    if (!field.is_repeated() || !twice->json().contains(field.name())) continue;
    const std::string repeated = RepeatedValue(message, field);
    if (!repeated.empty()) return absl::InvalidArgumentError(repeated + " is listed twice");
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the lists give the point ", twice->ToString(), " twice"));
}

// Checks that every claim that the file names is known and applies to some point.
absl::Status CheckNamedClaims(const Experiment& experiment, const std::vector<Point>& points) {
  const std::vector<std::string> named = experiment.named_claims();
  const auto claims = ClaimsNamed(experiment.Claims(), named);
  if (!claims.ok()) return claims.status();
  for (size_t i = 0; i < named.size(); ++i) {
    const Claim& claim = *(*claims)[i];
    const bool applies = std::any_of(points.begin(), points.end(), [&](const Point& point) {
      return WhyNot(claim, point).empty();
    });
    if (applies || points.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("claims[", i, "]: \"", named[i],
                     "\" applies to no point of this experiment: ", WhyNot(claim, points[0])));
  }
  return absl::OkStatus();
}

absl::Status Complete(Experiment& experiment) {
  experiment.FillDefaultsOfKind();
  if (absl::Status status = CheckAllRules(experiment.message()); !status.ok()) return status;
  const absl::StatusOr<std::vector<Point>> points = experiment.Sweep();
  if (!points.ok()) return points.status();
  if (absl::Status status = CheckTrials(experiment.TrialsOf(*points)); !status.ok()) return status;
  const google::protobuf::Message& message = experiment.message();
  if (absl::Status status = CheckSeedsDiffer(message); !status.ok()) return status;
  if (absl::Status status = CheckPointsDiffer(message, *points); !status.ok()) return status;
  if (absl::Status status = experiment.CheckEffort(*points); !status.ok()) return status;
  return CheckNamedClaims(experiment, *points);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Experiment>> ReadExperiment(
    const std::string& path, const std::vector<std::string>& overrides, const std::string& clock) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  const Kind& kind = KindOf(*text);
  std::unique_ptr<Experiment> experiment = kind.make();
  std::vector<std::string> settings = overrides;
  if (experiment->message().GetDescriptor()->FindFieldByName("clock") != nullptr) {
    if (!clock.empty()) settings.push_back("clock=" + clock);
  } else if (clock == "wall") {
    return absl::InvalidArgumentError(
        absl::StrCat("--clock wall: ", kind.subject, " are measured without a clock"));
  }
  if (absl::Status status =
          ReadWithSettings(path, *text, "an experiment file", kind.minimum, settings,
                           experiment->mutable_message(), [&] { return Complete(*experiment); });
      !status.ok()) {
    return status;
  }
  return experiment;
}

std::string WriteExperiment(const Experiment& experiment) {
  // JSON is YAML. A word that was left out and has no default is left out again.
  nlohmann::ordered_json json = ToJson(experiment.message());
  for (auto entry = json.begin(); entry != json.end();) {
    const bool none =
        entry->is_string() && absl::EndsWith(entry->get<std::string>(), "_unspecified");
    entry = none ? json.erase(entry) : std::next(entry);
  }
  return json.dump(2) + "\n";
}

}  // namespace bfly::control
