// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/packet_point.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "control/measure/core/sweep.h"
#include "control/measure/packets/conditions.h"
#include "control/measure/packets/worst_links.h"
#include "topologies/fault_plan.h"

namespace bfly::control {
namespace {

using dataplane::Discipline;

Discipline DisciplineOf(int value) {
  switch (value) {
    case v1::Experiment::PROCESSOR_SHARING:
      return Discipline::kProcessorSharing;
    case v1::Experiment::PRIORITY:
      return Discipline::kPriority;
    default:
      return Discipline::kFifo;
  }
}

// The network of the point, and its faults.
absl::Status CheckNetwork(const PacketPoint& point) {
  const absl::StatusOr<Network> made = Network::Make(point.network_spec(0));
  if (!made.ok()) return made.status();
  if (point.faults.value_or(0) == 0) return absl::OkStatus();
  if (point.in_rounds) {
    return absl::InvalidArgumentError(
        "faulty_switches: packets of the scheme valiant_brebner know of none");
  }
  FaultSet faults(*made);
  const absl::Status status = AddFaultySwitches(*point.faults, 0, &faults);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("faulty_switches: ", absl::StripPrefix(status.message(), "faults: ")));
}

// Also sets the point's worst links.
absl::Status CheckPoint(PacketPoint& point, WorstLinks& worst_links) {
  if (point.network == NetworkKind::kWrappedButterfly) {
    return absl::InvalidArgumentError(
        "network: wrapped_butterfly is not levelled; the virtual clock runs networks whose links "
        "all lead "
        "one level on, such as two_fold_butterfly");
  }
  const bool has_keys = point.multiplicity != 1 || point.rule.has_value() ||
                        point.parallel_edges.has_value() || point.extra_stages.has_value() ||
                        point.faults.has_value();
  if (absl::Status status = has_keys ? CheckNetwork(point) : absl::OkStatus(); !status.ok()) {
    return status;
  }
  if (point.network == NetworkKind::kHypercube && point.p == 0 && point.pattern.empty()) {
    return absl::InvalidArgumentError(
        "p: 0 on the hypercube means that no packet uses a link (allowed: above 0 to 1)");
  }
  if (point.discipline == Discipline::kPriority) {
    double sum = 0;
    for (const double share : point.class_shares) sum += share;
    if (!(std::abs(sum - 1) < 1e-9)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "class_shares: sum to ", sum, " (allowed: 1, since every packet belongs to one class)"));
    }
  }
  if (!point.pattern.empty()) {
    if (absl::Status status = worst_links.SetOf(point); !status.ok()) return status;
  }
  if (point.in_rounds && (point.network != NetworkKind::kHypercube || point.slot > 0 ||
                          !point.pattern.empty() || point.discipline != Discipline::kFifo)) {
    return absl::InvalidArgumentError(
        "scheme: valiant_brebner is for FIFO links on the hypercube, p-flips and continuous time");
  }
  if (point.links == dataplane::LinkModel::kSwitchOutput && point.multiplicity > 1) {
    return absl::InvalidArgumentError(
        "links: switch_output needs one port a direction, so a multiplicity of 1");
  }
  if (point.links == dataplane::LinkModel::kSwitchOutput &&
      point.network == NetworkKind::kHypercube) {
    return absl::InvalidArgumentError(
        "links: switch_output needs switches, and the nodes of a hypercube are none");
  }
  if (point.bernoulli && !(point.slot > 0)) {
    return absl::InvalidArgumentError(
        "arrivals: bernoulli needs slotted time, for example slot: 1");
  }
  if (point.bernoulli && point.lambda() * point.slot > 1 + 1e-9) {
    return absl::InvalidArgumentError(absl::StrCat(
        point.pattern.empty() ? "rho: " : "load: ", point.swept_load(), " is ",
        point.lambda() * point.slot,
        " packets in a slot, and bernoulli arrivals are at most one (allowed: above 0 to 1)"));
  }
  if (point.slot > 0) {
    const double inverse = 1 / point.slot;
    if (inverse > 1000 || std::abs(inverse - std::round(inverse)) > 1e-6) {
      return absl::InvalidArgumentError(absl::StrCat(
          "slot: ", point.slot,
          " is not a whole part of the service time (allowed: 0, or 1/k, k = 1 to 1000)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string DisciplineName(Discipline discipline) {
  switch (discipline) {
    case Discipline::kProcessorSharing:
      return "processor_sharing";
    case Discipline::kPriority:
      return "priority";
    case Discipline::kFifo:
      break;
  }
  return "fifo";
}

double PacketPoint::lambda() const {
  if (!pattern.empty()) return load;
  return rho * multiplicity / (network == NetworkKind::kHypercube ? p : std::max(p, 1 - p));
}

std::string PacketPoint::NetworkText() const {
  if (!names_network) return "";
  std::string text(KindName(network));
  if (multiplicity > 1) absl::StrAppend(&text, " x", multiplicity);
  if (extra_stages.has_value()) absl::StrAppend(&text, " r=", *extra_stages);
  if (faults.has_value()) absl::StrAppend(&text, " faults=", *faults);
  return text;
}

std::string PacketPoint::Curve() const {
  return absl::StrCat(
      NetworkText(), names_network ? " " : "", "d=", d, " ",
      pattern.empty() ? absl::StrCat("p=", p) : pattern,
      slot > 0 ? absl::StrCat(" slot=", slot) : "",
      discipline == Discipline::kFifo ? "" : absl::StrCat(" ", DisciplineName(discipline)));
}

std::string PacketPoint::ToString() const {
  std::string text = absl::StrCat(NetworkText(), names_network ? " " : "", "d=", d, " ");
  if (pattern.empty()) {
    absl::StrAppend(&text, "p=", p, " rho=", rho);
  } else {
    absl::StrAppend(&text, pattern, " load=", load);
  }
  if (slot > 0) absl::StrAppend(&text, " slot=", slot);
  if (discipline != Discipline::kFifo) absl::StrAppend(&text, " ", DisciplineName(discipline));
  return text;
}

nlohmann::ordered_json PacketPoint::ToJson() const {
  nlohmann::ordered_json json{{"d", d}};
  if (names_network) {
    json["network"] = KindName(network);
    json["multiplicity"] = multiplicity;
    if (extra_stages.has_value()) json["extra_stages"] = *extra_stages;
    if (faults.has_value()) json["faulty_switches"] = *faults;
  }
  if (pattern.empty()) {
    json["p"] = p;
    json["rho"] = rho;
  } else {
    json["pattern"] = pattern;
    json["load"] = load;
  }
  json["slot"] = slot;
  json["lambda"] = lambda();
  json["discipline"] = DisciplineName(discipline);
  return json;
}

std::string PacketPoint::ToCsv() const {
  std::string text = absl::StrFormat("%d,%s,%.9g,%.9g,%.9g,%s", d,
                                     pattern.empty() ? absl::StrFormat("%.9g", p) : pattern,
                                     swept_load(), slot, lambda(), DisciplineName(discipline));
  if (names_network) {
    absl::StrAppend(&text, ",", KindName(network), ",", multiplicity, ",", extra_stages.value_or(0),
                    ",", faults.value_or(0));
  }
  return text;
}

namespace {

// Keys that a file leaves out because they do not matter have one value.
std::vector<double> OrOne(const google::protobuf::RepeatedField<double>& values, double one) {
  if (values.empty()) return {one};
  return {values.begin(), values.end()};
}

absl::Status CheckSwept(const v1::Experiment& experiment) {
  const bool patterns = !experiment.pattern().empty();
  if (patterns && !experiment.rho().empty()) {
    return absl::InvalidArgumentError("rho: is for p-flips; a pattern's load is given by load");
  }
  if (patterns &&
      (experiment.p_size() > 1 || (experiment.p_size() == 1 && experiment.p(0) != 0.5))) {
    return absl::InvalidArgumentError("p: is for p-flips; a pattern says where rows send to");
  }
  if (!patterns && !experiment.load().empty()) {
    return absl::InvalidArgumentError("load: needs a pattern; the load of p-flips is given by rho");
  }
  const bool has_load = patterns ? !experiment.load().empty() : !experiment.rho().empty();
  if (!has_load) {
    return absl::InvalidArgumentError(absl::StrCat(
        patterns ? "load" : "rho",
        ": is missing: an experiment sweeps d and rho, or d, pattern and load, at least one value "
        "each, for example rho: [0.3, 0.6, 0.9]"));
  }
  if (experiment.coupled() &&
      std::count(experiment.discipline().begin(), experiment.discipline().end(),
                 v1::Experiment::PROCESSOR_SHARING) == 0) {
    return absl::InvalidArgumentError(
        "coupled: compares FIFO with processor_sharing, and discipline does not list it");
  }
  return absl::OkStatus();
}

}  // namespace

namespace {

bool HasSeveralLinks(NetworkKind kind) {
  return kind == NetworkKind::kDilatedButterfly || kind == NetworkKind::kMultibutterfly;
}

// The networks of an experiment: one for each kind, with the keys that the kind has. A key that no
// kind has goes to all of them, and Network::Make says what is wrong.
absl::StatusOr<std::vector<PacketPoint>> NetworksOf(const v1::Experiment& experiment) {
  std::vector<NetworkKind> kinds;
  for (const int name : experiment.network()) {
    const absl::StatusOr<NetworkKind> kind = KindFromName(
        absl::AsciiStrToLower(v1::NetworkKind_Name(static_cast<v1::NetworkKind>(name))));
    if (!kind.ok()) return kind.status();
    kinds.push_back(*kind);
  }
  std::optional<PortRule> port_rule;
  if (experiment.port_rule() != v1::Network::RULE_UNSPECIFIED) {
    const absl::StatusOr<PortRule> rule =
        RuleFromName(absl::AsciiStrToLower(v1::Network::Rule_Name(experiment.port_rule())));
    if (!rule.ok()) return rule.status();
    port_rule = *rule;
  }
  std::optional<ParallelEdges> edges;
  if (experiment.parallel_edges() != v1::Network::PARALLEL_EDGES_UNSPECIFIED) {
    const absl::StatusOr<ParallelEdges> named = ParallelEdgesFromName(
        absl::AsciiStrToLower(v1::Network::ParallelEdges_Name(experiment.parallel_edges())));
    if (!named.ok()) return named.status();
    edges = *named;
  }
  const bool any_several = std::any_of(kinds.begin(), kinds.end(), HasSeveralLinks);
  const bool any_splitters =
      std::count(kinds.begin(), kinds.end(), NetworkKind::kMultibutterfly) > 0;
  std::vector<PacketPoint> points;
  for (const NetworkKind kind : kinds) {
    PacketPoint& point = points.emplace_back();
    point.network = kind;
    if (!any_several || HasSeveralLinks(kind)) {
      point.multiplicity = std::max(1, static_cast<int>(experiment.multiplicity()));
      point.rule = port_rule;
    }
    if (!any_splitters || kind == NetworkKind::kMultibutterfly) point.parallel_edges = edges;
    point.names_network = kinds.size() > 1 || !experiment.extra_stages().empty() ||
                          !experiment.faulty_switches().empty() ||
                          kind == NetworkKind::kMultibutterfly;
    point.in_rounds = experiment.scheme() == v1::Experiment::VALIANT_BREBNER;
    point.bernoulli = experiment.arrivals() == v1::Experiment::BERNOULLI;
    if (experiment.links() == v1::Experiment::SWITCH_OUTPUT) {
      point.links = dataplane::LinkModel::kSwitchOutput;
    }
  }
  // Only butterflies have extra stages.
  const bool any_butterfly = std::count(kinds.begin(), kinds.end(), NetworkKind::kButterfly) > 0;
  const auto extra_stages = [&](const PacketPoint& x) -> std::vector<std::optional<uint32_t>> {
    if (experiment.extra_stages().empty()) return {std::nullopt};
    if (any_butterfly && x.network != NetworkKind::kButterfly) return {std::nullopt};
    return {experiment.extra_stages().begin(), experiment.extra_stages().end()};
  };
  Sweep(points, extra_stages,
        [](PacketPoint& x, std::optional<uint32_t> r) { x.extra_stages = r; });
  return points;
}

absl::Status CheckCoupled(const v1::Experiment& experiment,
                          const std::vector<PacketPoint>& points) {
  std::string why;
  for (const PacketPoint& point : points) {
    why = HasCoupledPath(point);
    if (why.empty()) break;
  }
  if (!experiment.coupled() || why.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("coupled: no point of this experiment has a coupled sample path: ", why));
}

}  // namespace

absl::StatusOr<std::vector<PacketPoint>> PointsOf(const v1::Experiment& experiment) {
  if (absl::Status status = CheckSwept(experiment); !status.ok()) return status;
  absl::StatusOr<std::vector<PacketPoint>> networks = NetworksOf(experiment);
  if (!networks.ok()) return networks.status();
  std::vector<std::string> patterns(experiment.pattern().begin(), experiment.pattern().end());
  if (patterns.empty()) patterns.emplace_back();
  std::vector<PacketPoint> points = *std::move(networks);
  std::vector<std::optional<uint32_t>> faults(experiment.faulty_switches().begin(),
                                              experiment.faulty_switches().end());
  if (faults.empty()) faults.emplace_back();
  Sweep(points, faults, [](PacketPoint& x, std::optional<uint32_t> count) { x.faults = count; });
  Sweep(points, experiment.d(), [](PacketPoint& x, uint32_t d) { x.d = static_cast<int>(d); });
  Sweep(points, patterns, [](PacketPoint& x, const std::string& name) { x.pattern = name; });
  Sweep(points, OrOne(experiment.p(), 0.5), [](PacketPoint& x, double p) { x.p = p; });
  const auto loads = [&](const PacketPoint& x) {
    return OrOne(x.pattern.empty() ? experiment.rho() : experiment.load(), 0);
  };
  Sweep(points, loads,
        [](PacketPoint& x, double load) { (x.pattern.empty() ? x.rho : x.load) = load; });
  Sweep(points, OrOne(experiment.slot(), 0), [](PacketPoint& x, double slot) { x.slot = slot; });
  Sweep(points, experiment.discipline(),
        [](PacketPoint& x, int discipline) { x.discipline = DisciplineOf(discipline); });
  // Before the links are counted, which takes time for each seed.
  if (absl::Status status =
          CheckTrials(points.size() * static_cast<uint64_t>(experiment.seeds_size()));
      !status.ok()) {
    return status;
  }
  WorstLinks worst_links({experiment.seeds().begin(), experiment.seeds().end()});
  for (PacketPoint& point : points) {
    point.warmup = experiment.warmup();
    if (point.discipline == Discipline::kPriority) {
      point.class_shares = {experiment.class_shares().begin(), experiment.class_shares().end()};
    }
    if (absl::Status status = CheckPoint(point, worst_links); !status.ok()) return status;
  }
  if (absl::Status status = CheckCoupled(experiment, points); !status.ok()) return status;
  return points;
}

}  // namespace bfly::control
