// SPDX-License-Identifier: Apache-2.0
#include "control/measure/packets/packet_point.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/measure/core/sweep.h"

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

absl::Status CheckPoint(const PacketPoint& point) {
  if (point.multiplicity != 1 || point.rule.has_value()) {
    if (const auto made = Network::Make(point.network_spec(0)); !made.ok()) return made.status();
  }
  if (point.network == NetworkKind::kMultibutterfly) {
    return absl::InvalidArgumentError(
        "network: multibutterfly runs live (bfly up) and is not measured by experiments of packets "
        "(allowed: butterfly, two_fold_butterfly, hypercube, randomly_wired_butterfly, benes, "
        "dilated_butterfly)");
  }
  if (point.network == NetworkKind::kWrappedButterfly) {
    return absl::InvalidArgumentError(
        "network: wrapped_butterfly is not levelled; the virtual clock runs networks whose links "
        "all lead "
        "one level on, such as two_fold_butterfly");
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
    if (const auto worst = WorstLink(point, 0); !worst.ok()) return worst.status();
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

std::string PacketPoint::Curve() const {
  return absl::StrCat(
      "d=", d, " ", pattern.empty() ? absl::StrCat("p=", p) : pattern,
      slot > 0 && !bernoulli ? absl::StrCat(" slot=", slot) : "",
      discipline == Discipline::kFifo ? "" : absl::StrCat(" ", DisciplineName(discipline)));
}

std::string PacketPoint::ToString() const {
  std::string text = absl::StrCat("d=", d, " ");
  if (pattern.empty()) {
    absl::StrAppend(&text, "p=", p, " rho=", rho);
  } else {
    absl::StrAppend(&text, pattern, " load=", load);
  }
  if (slot > 0 && !bernoulli) absl::StrAppend(&text, " slot=", slot);
  if (discipline != Discipline::kFifo) absl::StrAppend(&text, " ", DisciplineName(discipline));
  return text;
}

nlohmann::ordered_json PacketPoint::ToJson() const {
  nlohmann::ordered_json json{{"d", d}};
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
  return absl::StrFormat("%d,%s,%.9g,%.9g,%.9g,%s", d,
                         pattern.empty() ? absl::StrFormat("%.9g", p) : pattern, swept_load(), slot,
                         lambda(), DisciplineName(discipline));
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

absl::StatusOr<std::vector<PacketPoint>> PointsOf(const v1::Experiment& experiment) {
  const absl::StatusOr<NetworkKind> kind =
      KindFromName(absl::AsciiStrToLower(v1::NetworkKind_Name(experiment.network())));
  if (!kind.ok()) return kind.status();
  if (absl::Status status = CheckSwept(experiment); !status.ok()) return status;
  PacketPoint common;
  common.network = *kind;
  common.multiplicity = std::max(1, static_cast<int>(experiment.multiplicity()));
  if (experiment.port_rule() != v1::Network::RULE_UNSPECIFIED) {
    const absl::StatusOr<PortRule> rule =
        RuleFromName(absl::AsciiStrToLower(v1::Network::Rule_Name(experiment.port_rule())));
    if (!rule.ok()) return rule.status();
    common.rule = *rule;
  }
  common.in_rounds = experiment.scheme() == v1::Experiment::VALIANT_BREBNER;
  common.bernoulli = experiment.arrivals() == v1::Experiment::BERNOULLI;
  if (experiment.links() == v1::Experiment::SWITCH_OUTPUT) {
    common.links = dataplane::LinkModel::kSwitchOutput;
  }
  std::vector<std::string> patterns(experiment.pattern().begin(), experiment.pattern().end());
  if (patterns.empty()) patterns.emplace_back();
  std::vector<PacketPoint> points = {common};
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
  for (PacketPoint& point : points) {
    if (point.discipline == Discipline::kPriority) {
      point.class_shares = {experiment.class_shares().begin(), experiment.class_shares().end()};
    }
    if (absl::Status status = CheckPoint(point); !status.ok()) return status;
  }
  return points;
}

}  // namespace bfly::control
