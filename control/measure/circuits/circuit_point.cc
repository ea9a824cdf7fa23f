// SPDX-License-Identifier: Apache-2.0
#include "control/measure/circuits/circuit_point.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "control/measure/core/given_keys.h"
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

// The network of experiments that name none.
absl::StatusOr<NetworkKind> OwnNetworkOf(const std::string& protocol) {
  absl::StatusOr<NetworkKind> kind = NetworkOf(protocol);
  if (kind.status().code() == absl::StatusCode::kFailedPrecondition) {
    // Defined, but on no network of two copies.
    return absl::FailedPreconditionError(
        absl::StrCat("network: is missing; ", kind.status().message()));
  }
  return kind;
}

bool HasLinksToChoose(NetworkKind kind) {
  return kind == NetworkKind::kDilatedButterfly || kind == NetworkKind::kMultibutterfly;
}

// The networks of the experiment that the protocol is defined on.
absl::StatusOr<std::vector<NetworkKind>> NetworksOfProtocol(const v1::CircuitExperiment& experiment,
                                                            const std::string& protocol) {
  if (experiment.network().empty()) {
    const absl::StatusOr<NetworkKind> own = OwnNetworkOf(protocol);
    if (!own.ok()) return own.status();
    return std::vector<NetworkKind>{*own};
  }
  std::vector<NetworkKind> kinds;
  absl::Status not_defined;
  const absl::StatusOr<NetworkKind> own = NetworkOf(protocol);
  for (const int name : experiment.network()) {
    const absl::StatusOr<NetworkKind> kind = KindFromName(
        absl::AsciiStrToLower(v1::NetworkKind_Name(static_cast<v1::NetworkKind>(name))));
    if (!kind.ok()) return kind.status();
    const auto found = FindProtocol(protocol, *kind);
    if (found.ok() || (own.ok() && *own == *kind)) {
      kinds.push_back(*kind);
    } else if (found.status().code() == absl::StatusCode::kFailedPrecondition) {
      not_defined = found.status();
    } else if (own.ok()) {
      not_defined = absl::FailedPreconditionError(
          absl::StrCat("protocol: ", protocol, " is not defined on a ", KindName(*kind),
                       "; it needs ", KindName(*own)));
    } else {
      return found.status();
    }
  }
  if (kinds.empty()) return not_defined;
  return kinds;
}

bool HasThreshold(const std::string& protocol) {
  return protocol == "collision" || protocol == "data_server_collision";
}

bool HasDiskThreshold(const std::string& protocol) { return protocol == "data_server_collision"; }

bool HasLimit(const std::string& protocol) {
  return protocol == kLockDown || protocol == "q_limited";
}

// The others draw the output that each input asks for themselves.
bool HasPermutation(const CircuitPoint& point) {
  return !point.is_data_server() && point.protocol != kLockDown;
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

bool CircuitPoint::is_on_own_network() const {
  if (!names_network) return true;
  const absl::StatusOr<NetworkKind> own = NetworkOf(protocol);
  return own.ok() && *own == network;
}

std::string CircuitPoint::NetworkText() const {
  if (!names_network) return "";
  return absl::StrCat(KindName(network), multiplicity > 1 ? absl::StrCat(" x", multiplicity) : "");
}

std::string CircuitPoint::Curve() const {
  std::string text = protocol;
  if (names_network) absl::StrAppend(&text, " ", NetworkText());
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
  if (names_network) json["multiplicity"] = multiplicity;
  return json;
}

std::string CircuitCsvColumns(const v1::CircuitExperiment& experiment) {
  return absl::StrCat("protocol,network,d,permutation,c,c_disk,q",
                      experiment.network().empty() ? "" : ",multiplicity");
}

std::string CircuitPoint::ToCsv() const {
  return absl::StrCat(protocol, ",", KindName(network), ",", d, ",", permutation, ",", c, ",",
                      c_disk, ",", q, names_network ? absl::StrCat(",", multiplicity) : "");
}

namespace {

// How many links a direction has, and how they are wired.
absl::Status GiveLinks(const v1::CircuitExperiment& experiment, std::vector<CircuitPoint>& points) {
  std::optional<ParallelEdges> edges;
  if (experiment.parallel_edges() != v1::Network::PARALLEL_EDGES_UNSPECIFIED) {
    const absl::StatusOr<ParallelEdges> named = ParallelEdgesFromName(
        absl::AsciiStrToLower(v1::Network::ParallelEdges_Name(experiment.parallel_edges())));
    if (!named.ok()) return named.status();
    edges = *named;
  }
  bool any_splitters = false;
  for (CircuitPoint& point : points) {
    if (point.network != NetworkKind::kMultibutterfly) continue;
    any_splitters = true;
    point.parallel_edges = edges;
  }
  if (edges.has_value() && !any_splitters) {
    return absl::InvalidArgumentError("parallel_edges: needs network multibutterfly");
  }
  Sweep(
      points,
      [&](const CircuitPoint& x) {
        const auto& all = experiment.multiplicity();
        return HasLinksToChoose(x.network) ? std::vector<uint32_t>(all.begin(), all.end())
                                           : std::vector<uint32_t>{1};
      },
      [](CircuitPoint& x, uint32_t m) { x.multiplicity = static_cast<int>(m); });
  return absl::OkStatus();
}

absl::Status CheckCircuitSettings(const v1::CircuitExperiment& experiment,
                                  const std::vector<CircuitPoint>& points) {
  const auto any = [&](const auto& has) { return std::any_of(points.begin(), points.end(), has); };
  const auto any_protocol = [&](bool (*has)(const std::string&)) {
    return any([has](const CircuitPoint& x) { return has(x.protocol); });
  };
  const bool any_links = any([](const CircuitPoint& x) { return HasLinksToChoose(x.network); });
  for (const PointKey& key :
       {PointKey{"multiplicity", any_links, "network: dilated_butterfly and multibutterfly"},
        PointKey{"permutation", any(HasPermutation),
                 "protocols other than lock_down and the data server"},
        PointKey{"c", any_protocol(HasThreshold), "collision and data_server_collision"},
        PointKey{"c_disk", any_protocol(HasDiskThreshold), "data_server_collision"},
        PointKey{"q", any_protocol(HasLimit), "lock_down and q_limited"}}) {
    if (absl::Status status = CheckIsOfAPoint(experiment, key); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

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
    const std::string& protocol = experiment.protocol(i);
    const absl::StatusOr<std::vector<NetworkKind>> networks =
        NetworksOfProtocol(experiment, protocol);
    if (networks.status().code() == absl::StatusCode::kFailedPrecondition) {
      return absl::InvalidArgumentError(networks.status().message());
    }
    if (!networks.ok()) return UnknownProtocol(i, protocol);
    for (const NetworkKind network : *networks) {
      points.push_back({.protocol = protocol,
                        .network = network,
                        .c_follows = !GivesThreshold(experiment),
                        .names_network = !experiment.network().empty()});
    }
  }
  if (absl::Status status = CheckCircuitSettings(experiment, points); !status.ok()) return status;
  if (absl::Status status = GiveLinks(experiment, points); !status.ok()) return status;
  using Numbers = std::vector<uint32_t>;
  // A protocol is not swept over a setting that it does not have.
  const auto where = [](bool has, const auto& list) {
    return has ? Numbers(list.begin(), list.end()) : Numbers{0};
  };
  const auto permutations = [&](const CircuitPoint& x) -> std::vector<std::string> {
    if (!HasPermutation(x)) return {""};
    return {experiment.permutation().begin(), experiment.permutation().end()};
  };
  const auto cs = [&](const CircuitPoint& x) {
    return where(HasThreshold(x.protocol), experiment.c());
  };
  const auto disk_cs = [&](const CircuitPoint& x) {
    return where(HasDiskThreshold(x.protocol), experiment.c_disk());
  };
  const auto qs = [&](const CircuitPoint& x) {
    return where(HasLimit(x.protocol), experiment.q());
  };
  Sweep(points, permutations, [](CircuitPoint& x, const std::string& p) { x.permutation = p; });
  Sweep(points, cs, [](CircuitPoint& x, uint32_t c) { x.c = c; });
  Sweep(points, disk_cs, [](CircuitPoint& x, uint32_t c) { x.c_disk = c; });
  Sweep(points, qs, [](CircuitPoint& x, uint32_t q) { x.q = q; });
  Sweep(points, experiment.d(), [](CircuitPoint& x, uint32_t d) { x.d = static_cast<int>(d); });
  for (CircuitPoint& x : points) {
    if (HasDiskThreshold(x.protocol) && x.c_disk == 0) x.c_disk = 5;
    if (HasThreshold(x.protocol)) x.c = ThresholdOf(x.protocol, x.c, x.c_disk, x.d);
    if (HasLinksToChoose(x.network)) {
      const absl::Status status = Network::Make(x.network_spec(0)).status();
      if (!status.ok()) return status;
    }
    if (x.is_data_server() && x.d < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("d: ", x.d, " is too small for ", x.protocol, " (allowed: 2 to 20)"));
    }
  }
  return points;
}

}  // namespace bfly::control
