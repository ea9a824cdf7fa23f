// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_point.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/measure/core/sweep.h"
#include "control/protocols/data_server.h"
#include "control/protocols/protocol.h"
#include "topologies/permutation.h"

namespace bfly::control {
namespace {

constexpr char kLockDown[] = "lock_down";
constexpr const char* kDataServer[] = {"data_server_collision", "data_server_minimum",
                                       "data_server_single_copy"};

// The network that the paper runs a protocol on: greedy runs on a single butterfly, the others need
// two copies.
absl::StatusOr<NetworkKind> NetworkOf(const std::string& protocol) {
  if (std::count(std::begin(kDataServer), std::end(kDataServer), protocol) > 0) {
    return NetworkKind::kRandomlyWiredButterfly;
  }
  if (protocol == kLockDown || protocol == "greedy") return NetworkKind::kButterfly;
  for (const NetworkKind kind : {NetworkKind::kTwoFoldButterfly, NetworkKind::kBenes}) {
    if (FindProtocol(protocol, kind).ok()) return kind;
  }
  return FindProtocol(protocol, NetworkKind::kTwoFoldButterfly).status();
}

absl::Status UnknownProtocol(size_t i, const std::string& name) {
  std::vector<std::string> known;
  for (const Protocol* protocol : AllProtocols()) known.push_back(protocol->name);
  known.insert(known.end(), std::begin(kDataServer), std::end(kDataServer));
  known.push_back(kLockDown);
  return absl::InvalidArgumentError(absl::StrCat(
      "protocol[", i, "]: \"", name, "\" is unknown (allowed: ", absl::StrJoin(known, ", "), ")"));
}

bool HasThreshold(const std::string& protocol) {
  return protocol == "collision" || protocol == "data_server_collision";
}

uint32_t ThresholdOf(const std::string& protocol, uint32_t asked, uint32_t c_disk, int d) {
  if (asked != 0) return asked;
  if (protocol == "collision") return CollisionThreshold(d);
  // c! >= 2 log n, and c >= c_disk in the proof of Theorem 3.1.
  uint32_t c = 1;
  for (double factorial = 1; factorial < 2 * d; factorial *= ++c) {
  }
  return std::max(c, c_disk);
}

}  // namespace

bool GivesThreshold(const v1::CircuitExperiment& experiment) {
  return experiment.c_size() > 1 || (experiment.c_size() == 1 && experiment.c(0) != 0);
}

std::vector<uint64_t> SeedsAt(const v1::CircuitExperiment& experiment, int d) {
  int seeds = experiment.seeds_size();
  for (const auto& limit : experiment.seed_limits()) {
    if (d >= static_cast<int>(limit.from_d())) {
      seeds = std::min(seeds, static_cast<int>(limit.seeds()));
    }
  }
  return {experiment.seeds().begin(), experiment.seeds().begin() + seeds};
}

bool CircuitPoint::is_data_server() const { return absl::StartsWith(protocol, "data_server_"); }

std::string CircuitPoint::Curve() const {
  std::string text = protocol;
  if (!permutation.empty()) absl::StrAppend(&text, " ", permutation);
  if (c != 0 && !c_follows) absl::StrAppend(&text, " c=", c);
  if (c_disk != 0) absl::StrAppend(&text, " c_disk=", c_disk);
  if (q != 0) absl::StrAppend(&text, " q=", q);
  return text;
}

std::string CircuitPoint::ToString() const {
  CircuitPoint point = *this;
  point.c_follows = false;
  return absl::StrCat(point.Curve(), " d=", d);
}

nlohmann::ordered_json CircuitPoint::ToJson() const {
  nlohmann::ordered_json json{
      {"protocol", protocol}, {"network", KindName(network)}, {"d", d}, {"rows", rows()}};
  if (!permutation.empty()) json["permutation"] = permutation;
  if (c != 0) json["c"] = c;
  if (c_disk != 0) json["c_disk"] = c_disk;
  if (q != 0) json["q"] = q;
  return json;
}

std::string CircuitPoint::ToCsv() const {
  return absl::StrCat(protocol, ",", KindName(network), ",", d, ",", permutation, ",", c, ",",
                      c_disk, ",", q);
}

absl::StatusOr<std::vector<CircuitPoint>> CircuitPointsOf(const v1::CircuitExperiment& experiment) {
  const std::vector<std::string> names = PermutationNames();
  for (int i = 0; i < experiment.permutation_size(); ++i) {
    if (std::find(names.begin(), names.end(), experiment.permutation(i)) != names.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("permutation[", i, "]: \"", experiment.permutation(i),
                     "\" is unknown (allowed: ", absl::StrJoin(names, ", "), ")"));
  }
  std::vector<CircuitPoint> points;
  for (int i = 0; i < experiment.protocol_size(); ++i) {
    CircuitPoint& point = points.emplace_back();
    point.protocol = experiment.protocol(i);
    point.c_follows = !GivesThreshold(experiment);
    const absl::StatusOr<NetworkKind> network = NetworkOf(point.protocol);
    if (!network.ok()) return UnknownProtocol(i, point.protocol);
    point.network = *network;
  }
  using Numbers = std::vector<uint32_t>;
  // A protocol is not swept over a setting that it does not have.
  const auto where = [](bool has, const auto& list) {
    return has ? Numbers(list.begin(), list.end()) : Numbers{0};
  };
  const auto permutations = [&](const CircuitPoint& x) -> std::vector<std::string> {
    if (x.is_data_server() || x.protocol == kLockDown) return {""};  // these draw their own
    return {experiment.permutation().begin(), experiment.permutation().end()};
  };
  const auto cs = [&](const CircuitPoint& x) {
    return where(HasThreshold(x.protocol), experiment.c());
  };
  const auto disk_cs = [&](const CircuitPoint& x) {
    return where(x.protocol == "data_server_collision", experiment.c_disk());
  };
  const auto qs = [&](const CircuitPoint& x) {
    return where(x.protocol == kLockDown || x.protocol == "q_limited", experiment.q());
  };
  Sweep(points, permutations, [](CircuitPoint& x, const std::string& p) { x.permutation = p; });
  Sweep(points, cs, [](CircuitPoint& x, uint32_t c) { x.c = c; });
  Sweep(points, disk_cs, [](CircuitPoint& x, uint32_t c) { x.c_disk = c; });
  Sweep(points, qs, [](CircuitPoint& x, uint32_t q) { x.q = q; });
  Sweep(points, experiment.d(), [](CircuitPoint& x, uint32_t d) { x.d = static_cast<int>(d); });
  for (CircuitPoint& x : points) {
    if (x.protocol == "data_server_collision" && x.c_disk == 0) x.c_disk = 5;
    if (HasThreshold(x.protocol)) x.c = ThresholdOf(x.protocol, x.c, x.c_disk, x.d);
    if (x.is_data_server() && x.d < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("d: ", x.d, " is too small for ", x.protocol, " (allowed: 2 to 20)"));
    }
  }
  return points;
}

}  // namespace bfly::control
