// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/validate.h"

#include <algorithm>
#include <bit>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "control/topology_file/host_ports.h"
#include "control/topology_file/link_policy.h"
#include "control/topology_file/planned_faults.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/schema.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate_parts.h"

namespace bfly::control {
namespace validation {
namespace {

// Names become parts of socket paths and of DPDK's memory names.
constexpr size_t kLongestName = 32;
constexpr char kControllerName[] = "controller";
constexpr size_t kLongestUnixPath = 107;  // sun_path, with its NUL

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kLongestName && absl::ascii_isalnum(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

// "unix:PATH" or "HOST:PORT".
bool IsAddress(absl::string_view address) {
  if (absl::ConsumePrefix(&address, "unix:")) {
    return !address.empty() && address.size() <= kLongestUnixPath &&
           std::none_of(address.begin(), address.end(), absl::ascii_iscntrl);
  }
  const size_t colon = address.rfind(':');
  int port = 0;
  return colon != absl::string_view::npos && colon > 0 &&
         absl::SimpleAtoi(address.substr(colon + 1), &port) && port > 0 && port <= 65535;
}

}  // namespace

void CheckName(Context& context, const std::string& field, const std::string& name) {
  if (name.empty() || IsName(name)) return;
  context.Report(
      field, Quotable(name),
      absl::StrCat("\"", Quotable(name), "\" is not a name (allowed: up to ", kLongestName,
                   " letters, digits, '_', '-' and '.', the first a letter or digit)"));
}

std::string Context::DataPlaneNames() const {
  std::vector<std::string> names;
  for (const auto& [name, index] : data_planes) names.push_back(Quotable(name));
  constexpr size_t kMost = 16;
  const bool cut = names.size() > kMost;
  if (cut) names.resize(kMost);
  return absl::StrCat(absl::StrJoin(names, ", "), cut ? ", ..." : "");
}

int Context::FindDataPlane(const std::string& field, const std::string& name, bool required) {
  if (name.empty()) {
    if (required && data_planes.size() > 1) {
      Report(field, "",
             absl::StrCat("is missing, there are ", data_planes.size(),
                          " data planes (allowed: one of ", DataPlaneNames(), ")"));
    }
    return kNobody;
  }
  const auto found = data_planes.find(name);
  if (found != data_planes.end()) return found->second;
  Report(field, Quotable(name),
         absl::StrCat("\"", Quotable(name), "\" is not a data plane of this file (allowed: one of ",
                      DataPlaneNames(), ")"));
  return kNobody;
}

void Context::CheckUnique(std::map<std::string, std::string>& taken, const std::string& field,
                          const std::string& name) {
  if (name.empty()) return;
  const auto [first, fresh] = taken.emplace(name, field);
  if (fresh) return;
  Report(field, Quotable(name),
         absl::StrCat("\"", Quotable(name), "\" is taken by ", first->second));
}

void CheckNetwork(Context& context) {
  const v1::Network& network = context.topology.network();
  if (network.kind() == v1::NETWORK_KIND_UNSPECIFIED || network.rows() < kMinRows ||
      network.rows() > kMaxRows || !std::has_single_bit(network.rows()) || network.passes() < 1 ||
      network.passes() > 2 || network.multiplicity() < 1 ||
      network.multiplicity() > kMaxMultiplicity || network.extra_stages() > kMaxExtraStages) {
    return;
  }
  absl::StatusOr<Network> made = NetworkOf(network);
  if (made.ok()) {
    context.network = *std::move(made);
    context.owner.assign(context.network->stages(), kNobody);
  } else {
    const std::string message(made.status().message());
    const size_t colon = message.find(": ");
    context.Report(absl::StrCat("network.", message.substr(0, colon)), "",
                   colon == std::string::npos ? message : message.substr(colon + 2));
  }
}

void CheckDataPlanes(Context& context) {
  CheckName(context, "name", context.topology.name());
  std::map<std::string, std::string> names, addresses;
  for (int i = 0; i < context.topology.data_planes_size(); ++i) {
    const v1::DataPlane& plane = context.topology.data_planes(i);
    const std::string at = absl::StrCat("data_planes[", i, "]");
    CheckName(context, at + ".name", plane.name());
    CheckName(context, at + ".network_namespace", plane.network_namespace());
    context.CheckUnique(names, at + ".name", plane.name());
    if (plane.name() == kControllerName) {
      context.Report(
          at + ".name", plane.name(),
          "\"controller\" is the controller's name in the run directory; choose another");
    }
    context.CheckUnique(addresses, at + ".address", plane.address());
    if (!plane.name().empty()) context.data_planes.emplace(plane.name(), i);
    if (!plane.address().empty() && !IsAddress(plane.address())) {
      context.Report(at + ".address", Quotable(plane.address()),
                     absl::StrCat("\"", Quotable(plane.address()),
                                  "\" is not a gRPC address (allowed: unix:PATH of up to ",
                                  kLongestUnixPath, " characters, or HOST:PORT)"));
    }
  }
  std::map<std::string, std::string> ports_and_trunks;
  for (int i = 0; i < context.topology.ports_size(); ++i) {
    const std::string at = absl::StrCat(context.port_fields[i], ".name");
    if (!absl::StartsWith(at, "hosts")) {  // CheckHosts() checks names of hosts
      CheckName(context, at, context.topology.ports(i).name());
    }
    context.CheckUnique(ports_and_trunks, at, context.topology.ports(i).name());
  }
  for (int i = 0; i < context.topology.trunks_size(); ++i) {
    const std::string at = absl::StrCat("trunks[", i, "].name");
    CheckName(context, at, context.topology.trunks(i).name());
    context.CheckUnique(ports_and_trunks, at, context.topology.trunks(i).name());
  }
}

void CheckAddressing(Context& context) {
  const v1::Addressing& addressing = context.topology.addressing();
  const std::string field = "addressing.ipv4_prefix";
  if (addressing.mode() != v1::Addressing::IPV4_PREFIX) {
    if (addressing.mode() == v1::Addressing::MAC && !addressing.ipv4_prefix().empty()) {
      context.Report(
          field, Quotable(addressing.ipv4_prefix()),
          "has no effect with mode mac; set addressing.mode to ipv4_prefix or leave it out");
    }
    return;
  }
  if (addressing.ipv4_prefix().empty()) {
    return context.Report(field, "",
                          "is missing, mode ipv4_prefix needs it (for example 10.77.0.16/28)");
  }
  const absl::StatusOr<Ipv4Block> block = ParseIpv4Block(addressing.ipv4_prefix());
  if (!block.ok()) {
    return context.Report(field, Quotable(addressing.ipv4_prefix()),
                          std::string(block.status().message()));
  }
  if (!context.network) return;
  if (block->size() < context.network->rows()) {
    context.Report(
        field, addressing.ipv4_prefix(),
        absl::StrCat(addressing.ipv4_prefix(), " has ", block->size(), " addresses, too few for ",
                     context.network->rows(), " rows (allowed: /",
                     32 - context.network->dimension(), " or a smaller number)"));
  }
}

void CheckLinks(Context& context) {
  if (!context.network) return;
  for (Violation& violation : CheckLinkOverrides(context.topology.links().overrides(),
                                                 *context.network, "links.overrides")) {
    context.violations.push_back(std::move(violation));
  }
}

void CheckPlannedFaults(Context& context) {
  if (!context.network) return;
  for (Violation& violation : CheckFaults(context.topology.faults(), *context.network, "faults")) {
    context.violations.push_back(std::move(violation));
  }
}

}  // namespace validation

void CompleteTopology(v1::Topology* topology) {
  FillDefaults(topology);
  if (topology->data_planes().empty()) {
    topology->add_data_planes()->set_name("dp0");
    FillDefaults(topology->mutable_data_planes(0));
  }
  if (topology->data_planes_size() == 1) {
    const std::string& only = topology->data_planes(0).name();
    for (v1::StagePlacement& placement : *topology->mutable_placement()) {
      if (placement.data_plane().empty()) placement.set_data_plane(only);
    }
    for (v1::HostPort& port : *topology->mutable_ports()) {
      if (port.data_plane().empty()) port.set_data_plane(only);
    }
  }
  AddHostPorts(topology);
  for (v1::HostPort& port : *topology->mutable_ports()) {
    if (port.has_translate_mac()) continue;
    const absl::StatusOr<std::vector<Range>> rows = ParseRanges(port.rows());
    if (!rows.ok()) continue;
    const bool one_row = rows->size() == 1 && rows->front().first == rows->front().last;
    port.set_translate_mac(one_row && topology->addressing().mode() == v1::Addressing::MAC);
  }
}

std::vector<Violation> ValidateTopology(const v1::Topology& topology) {
  std::vector<Violation> violations;
  validation::Context context(topology, violations);
  validation::CheckNetwork(context);
  validation::CheckDataPlanes(context);
  validation::CheckAddressing(context);
  validation::CheckPlacement(context);
  validation::CheckTrunks(context);
  validation::CheckPorts(context);
  validation::CheckHosts(context);
  validation::CheckLinks(context);
  validation::CheckCircuits(context);
  validation::CheckPlannedFaults(context);
  return violations;
}

std::vector<Violation> CheckTopology(v1::Topology* topology) {
  CompleteTopology(topology);
  std::vector<Violation> violations;
  CheckRules(*topology, "", &violations);
  if (topology->placement().empty() && topology->data_planes_size() == 1) {
    violations.push_back(
        {"placement", "", "is missing (which lcore runs which rows of which stages)"});
  }
  for (Violation& contradiction : ValidateTopology(*topology)) {
    violations.push_back(std::move(contradiction));
  }
  return violations;
}

}  // namespace bfly::control
