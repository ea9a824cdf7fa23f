// SPDX-License-Identifier: Apache-2.0
#include "control/measure/survival/survival_point.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/measure/core/given_keys.h"
#include "control/measure/core/sweep.h"
#include "control/topology_file/planned_faults.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {
namespace {

constexpr char kAdversary[] = "adversary";

bool IsRandom(const std::string& faults) { return faults == "links" || faults == "nodes"; }
bool HasMultiplicity(NetworkKind kind) {
  return kind == NetworkKind::kDilatedButterfly || kind == NetworkKind::kMultibutterfly;
}

NetworkSpec SpecOf(const SurvivalPoint& point) {
  return {.kind = point.network, .rows = point.rows(), .multiplicity = point.multiplicity};
}

bool Lists(const v1::Faults& list) {
  return list.links_size() > 0 || list.nodes_size() > 0 || list.random().links() > 0 ||
         list.random().nodes() > 0 || list.adversarial().links() > 0 ||
         list.adversarial().nodes() > 0;
}

absl::Status CheckSurvivalSettings(const v1::SurvivalExperiment& experiment,
                                   const std::vector<SurvivalPoint>& points) {
  const auto any = [&](const auto& has) { return std::any_of(points.begin(), points.end(), has); };
  for (const PointKey& key :
       {PointKey{"rate", any([](const SurvivalPoint& x) { return IsRandom(x.faults); }),
                 "faults: links and nodes"},
        PointKey{"count", any([](const SurvivalPoint& x) { return x.faults == kAdversary; }),
                 "faults: adversary"},
        PointKey{"multiplicity",
                 any([](const SurvivalPoint& x) { return HasMultiplicity(x.network); }),
                 "network: dilated_butterfly and multibutterfly"}}) {
    if (absl::Status status = CheckIsOfAPoint(experiment, key); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// What cannot be down on the network of the point.
absl::Status CheckPoint(const SurvivalPoint& point, const v1::Faults& list) {
  const absl::StatusOr<Network> network = Network::Make(SpecOf(point));
  if (!network.ok()) return network.status();
  if (point.count > point.rows()) {
    return absl::InvalidArgumentError(absl::StrCat("count: ", point.count,
                                                   " switches are more than the last stage of ",
                                                   point.rows(), " rows has"));
  }
  const std::vector<Violation> violations = CheckFaults(list, *network, "list");
  if (violations.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToString(violations[0]), " at ", point.ToString()));
}

}  // namespace

std::string RateText(double rate) {
  std::array<char, 32> text{};  // a double takes 24 characters at most
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), rate, std::chars_format::general);
  return {text.data(), written.ptr};
}

bool SurvivalPoint::has_single_paths() const {
  switch (network) {
    case NetworkKind::kButterfly:
    case NetworkKind::kHypercube:
    case NetworkKind::kRandomlyWiredButterfly:
    case NetworkKind::kDilatedButterfly:
    case NetworkKind::kWrappedButterfly:
      return true;
    case NetworkKind::kMultibutterfly:
      return multiplicity == 1;
    default:
      return false;
  }
}

std::string SurvivalPoint::Curve() const {
  std::string text = absl::StrCat(faults, " ", KindName(network));
  if (multiplicity > 1) absl::StrAppend(&text, " multiplicity=", multiplicity);
  if (IsRandom(faults)) absl::StrAppend(&text, " rate=", RateText(rate));
  if (faults == kAdversary) absl::StrAppend(&text, " count=", count);
  return text;
}

std::string SurvivalPoint::ToString() const { return absl::StrCat(Curve(), " d=", d); }

nlohmann::ordered_json SurvivalPoint::ToJson() const {
  nlohmann::ordered_json json{
      {"faults", faults}, {"network", KindName(network)}, {"d", d}, {"rows", rows()}};
  if (multiplicity > 1) json["multiplicity"] = multiplicity;
  if (IsRandom(faults)) json["rate"] = rate;
  if (faults == kAdversary) json["count"] = count;
  return json;
}

std::string SurvivalPoint::ToCsv() const {
  return absl::StrCat(faults, ",", KindName(network), ",", d, ",", multiplicity, ",",
                      RateText(rate), ",", count);
}

absl::StatusOr<std::vector<SurvivalPoint>> SurvivalPointsOf(
    const v1::SurvivalExperiment& experiment) {
  std::vector<SurvivalPoint> points;
  for (int i = 0; i < experiment.faults_size(); ++i) {
    SurvivalPoint& point = points.emplace_back();
    point.faults = absl::AsciiStrToLower(v1::SurvivalExperiment::What_Name(experiment.faults(i)));
    point.lists = Lists(experiment.list());
    if (point.faults == "listed" && !point.lists) {
      return absl::InvalidArgumentError("list: is missing, and faults: listed needs it");
    }
  }
  std::vector<NetworkKind> kinds;
  for (int i = 0; i < experiment.network_size(); ++i) {
    v1::Network network;
    network.set_kind(experiment.network(i));
    network.set_rows(2);
    const absl::StatusOr<NetworkSpec> spec = ToNetworkSpec(network);
    if (!spec.ok()) return spec.status();
    kinds.push_back(spec->kind);
  }
  const auto rates = [&](const SurvivalPoint& x) {
    if (!IsRandom(x.faults)) return std::vector<double>{0};
    return std::vector<double>(experiment.rate().begin(), experiment.rate().end());
  };
  const auto counts = [&](const SurvivalPoint& x) {
    if (x.faults != kAdversary) return std::vector<uint32_t>{0};
    return std::vector<uint32_t>(experiment.count().begin(), experiment.count().end());
  };
  Sweep(points, kinds, [&](SurvivalPoint& x, NetworkKind kind) {
    x.network = kind;
    if (HasMultiplicity(kind)) x.multiplicity = static_cast<int>(experiment.multiplicity());
  });
  if (absl::Status status = CheckSurvivalSettings(experiment, points); !status.ok()) return status;
  Sweep(points, rates, [](SurvivalPoint& x, double rate) { x.rate = rate; });
  Sweep(points, counts, [](SurvivalPoint& x, uint32_t count) { x.count = count; });
  Sweep(points, experiment.d(), [](SurvivalPoint& x, uint32_t d) { x.d = static_cast<int>(d); });
  for (const SurvivalPoint& point : points) {
    if (absl::Status status = CheckPoint(point, experiment.list()); !status.ok()) return status;
  }
  return points;
}

}  // namespace bfly::control
