// SPDX-License-Identifier: Apache-2.0
#include "control/measure/steps/step_point.h"

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "control/measure/steps/step_keys.h"

namespace bfly::control {
namespace {

NetworkKind KindAt(const StepPoint& point) {
  if (point.Find("network") == nullptr) return NetworkKind::kButterfly;
  // The schema has checked the word.
  return KindFromName(point.word("network")).value_or(NetworkKind::kButterfly);
}

// Network::Make calls fields as a topology file does.
absl::Status InWordsOfTheFile(const absl::Status& status) {
  std::string text(status.message());
  for (const auto& [field, key] : {std::pair("rows: ", "d: "), std::pair("extra_stages: ", "r: "),
                                   std::pair("kind: ", "network: ")}) {
    if (text.rfind(field, 0) == 0) text = key + text.substr(std::string(field).size());
  }
  return absl::Status(status.code(), text);
}

}  // namespace

std::string ToString(const StepValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  // Values that are numbers are whole. StrCat of a double keeps six digits.
  return absl::StrCat(static_cast<int64_t>(std::get<double>(value)));
}

const StepValue* StepPoint::Find(const std::string& key) const {
  const auto at = std::find_if(values.begin(), values.end(),
                               [&](const auto& value) { return value.first == key; });
  return at == values.end() ? nullptr : &at->second;
}

double StepPoint::number(const std::string& key) const {
  if (const StepValue* value = Find(key)) return std::get<double>(*value);
  throw std::out_of_range(program + " has no key " + key);
}

const std::string& StepPoint::word(const std::string& key) const {
  if (const StepValue* value = Find(key)) return std::get<std::string>(*value);
  throw std::out_of_range(program + " has no key " + key);
}

void StepPoint::LimitToRows(const std::string& key) {
  for (auto& [name, value] : values) {
    if (name == key) value = std::min(std::get<double>(value), static_cast<double>(rows()));
  }
}

std::string StepPoint::Curve() const {
  std::string text = program;
  for (const auto& [key, value] : values) {
    const std::string word = control::ToString(value);
    const bool says_itself =
        std::holds_alternative<std::string>(value) && word != "true" && word != "false";
    absl::StrAppend(&text, " ", says_itself ? "" : key + "=", word);
  }
  return text;
}

std::string StepPoint::ToString() const { return absl::StrCat(Curve(), " d=", d); }

nlohmann::ordered_json StepPoint::ToJson() const {
  nlohmann::ordered_json json{{"program", program}, {"d", d}, {"rows", rows()}, {"n", rows()}};
  for (const auto& [key, value] : values) {
    if (const auto* word = std::get_if<std::string>(&value)) {
      json[key] = *word;
    } else {
      json[key] = static_cast<uint64_t>(std::get<double>(value));
    }
  }
  return json;
}

std::string StepCsvColumns() {
  std::string columns = "program,d";
  for (const std::string& key : StepKeys()) absl::StrAppend(&columns, ",", key);
  return columns;
}

std::string StepPoint::ToCsv() const {
  std::string text = absl::StrCat(program, ",", d);
  for (const std::string& key : StepKeys()) {
    const StepValue* value = Find(key);
    absl::StrAppend(&text, ",", value == nullptr ? "" : control::ToString(*value));
  }
  return text;
}

bool HasStepKey(const StepPoint& point, const std::string& key) {
  const NetworkKind kind = KindAt(point);
  const bool wired = kind == NetworkKind::kMultibutterfly;
  if (key == "parallel_edges") return wired;
  return key != "multiplicity" || wired || kind == NetworkKind::kDilatedButterfly;
}

NetworkSpec StepNetworkSpec(const StepPoint& point, uint64_t seed) {
  NetworkSpec spec{.kind = KindAt(point), .rows = point.rows(), .seed = seed};
  if (point.Find("multiplicity") != nullptr) {
    spec.multiplicity = static_cast<int>(point.count("multiplicity"));
  }
  if (point.Find("parallel_edges") != nullptr) {
    // The schema has checked the word.
    spec.parallel_edges =
        ParallelEdgesFromName(point.word("parallel_edges")).value_or(kDefaultEdges);
  }
  if (point.Find("r") != nullptr) spec.extra_stages = static_cast<int>(point.count("r"));
  return spec;
}

absl::StatusOr<Network> StepNetwork(const StepPoint& point, uint64_t seed) {
  absl::StatusOr<Network> network = Network::Make(StepNetworkSpec(point, seed));
  if (!network.ok()) return InWordsOfTheFile(network.status());
  return network;
}

absl::StatusOr<Permutation> StepPermutation(const StepPoint& point, uint64_t seed) {
  absl::StatusOr<Permutation> permutation =
      PermutationByName(point.word("permutation"), point.rows(), seed);
  if (!permutation.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("permutation: ", permutation.status().message()));
  }
  return permutation;
}

}  // namespace bfly::control
