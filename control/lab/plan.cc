// SPDX-License-Identifier: Apache-2.0
#include "control/lab/plan.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/topology_file/diagnostic.h"
#include "control/topology_file/host_ports.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

constexpr size_t kLongestLabName = 64;

bool IsLabName(const std::string& name) {
  return !name.empty() && name.size() <= kLongestLabName && absl::ascii_isalnum(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.';
         });
}

std::string KindName(v1::Host::Kind kind) {
  return absl::AsciiStrToLower(v1::Host::Kind_Name(kind));
}

std::string MacOfRow(uint32_t row) {
  return absl::StrFormat("02:bf:00:%02x:%02x:%02x", row >> 16 & 0xff, row >> 8 & 0xff, row & 0xff);
}

bool HasIpv6(const v1::Host& host) {
  return std::any_of(host.addresses().begin(), host.addresses().end(),
                     [](const std::string& text) { return text.find(':') != std::string::npos; });
}

NamespaceRef FabricNamespace(const v1::Topology& topology, LabPlan* plan) {
  const std::string& named = topology.data_planes(0).network_namespace();
  const bool on_machine =
      std::any_of(topology.hosts().begin(), topology.hosts().end(),
                  [](const v1::Host& host) { return host.kind() == v1::Host::INTERFACE; });
  if (named.empty() && on_machine) return {};
  const std::string name = named.empty() ? plan->name + "-fabric" : named;
  plan->namespaces.push_back(
      {.name = name, .field = "data_planes[0].network_namespace", .may_be_used = !named.empty()});
  return NamespaceRef::Named(name);
}

PlannedLink LinkOf(const v1::Host& host, const v1::Topology& topology, const LabPlan& plan,
                   const NamespaceRef& where) {
  const auto rows = ParseRanges(host.rows());
  PlannedLink link{.field = "",
                   .port_namespace = plan.fabric,
                   .port_interface = PortInterface(host),
                   .host_namespace = where,
                   .host_interface = HostInterface(host),
                   .host_mac = MacOfRow(rows.ok() ? rows->front().first : 0),
                   .mtu = HostMtu(host, topology),
                   .queues = host.queue_pairs(),
                   .ipv6 = HasIpv6(host),
                   .addresses = {host.addresses().begin(), host.addresses().end()},
                   .routes = {}};
  for (const v1::HostRoute& route : host.routes()) link.routes.push_back({route.to(), route.via()});
  return link;
}

void AddHost(const v1::Host& host, const std::string& field, const v1::Topology& topology,
             LabPlan* plan) {
  LabHost& known = plan->hosts.emplace_back();
  known.name = host.name();
  known.kind = KindName(host.kind());
  known.rows = host.rows();
  known.addresses = {host.addresses().begin(), host.addresses().end()};
  if (host.kind() == v1::Host::MACHINE) {
    known.port = host.vhost_socket();
    return;
  }
  known.port = PortInterface(host);
  if (host.kind() == v1::Host::INTERFACE) {
    plan->needed.push_back({field + ".port_interface", plan->fabric, known.port});
    return;
  }
  known.has_namespace = true;
  known.interface = HostInterface(host);
  if (host.kind() == v1::Host::CONTAINER) {
    known.where = NamespaceRef::OfProcess(static_cast<pid_t>(host.pid()));
  } else {
    known.where = NamespaceRef::Named(absl::StrCat(plan->name, "-", host.name()));
    plan->namespaces.push_back({.name = known.where.name, .field = field + ".name"});
  }
  plan->links.push_back(LinkOf(host, topology, *plan, known.where));
  plan->links.back().field = field;
}

}  // namespace

std::string NamespaceRef::path() const {
  switch (kind) {
    case Kind::kNamed:
      return "/run/netns/" + name;
    case Kind::kProcess:
      return absl::StrCat("/proc/", pid, "/ns/net");
    case Kind::kCaller:
      break;
  }
  return "/proc/thread-self/ns/net";
}

std::string NamespaceRef::text() const {
  switch (kind) {
    case Kind::kNamed:
      return "network namespace " + name;
    case Kind::kProcess:
      return absl::StrCat("the network namespace of process ", pid);
    case Kind::kCaller:
      break;
  }
  return "this network namespace";
}

absl::StatusOr<LabPlan> PlanLab(const v1::Topology& topology, const std::string& name) {
  if (!IsLabName(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", Quotable(name), "\" is not the name of a lab (allowed: up to ", kLongestLabName,
        " letters, digits, '_', '-' and '.', the first a letter or digit)"));
  }
  if (topology.hosts().empty() || topology.data_planes_size() != 1) {
    return absl::InvalidArgumentError(
        "hosts: is missing, a lab has at least one host (for example - {name: h0, rows: 0, "
        "addresses: 10.77.0.1/24}); a fabric without hosts comes up by `bfly up`");
  }
  LabPlan plan;
  plan.name = name;
  plan.fabric = FabricNamespace(topology, &plan);
  for (int i = 0; i < topology.hosts_size(); ++i) {
    AddHost(topology.hosts(i), absl::StrCat("hosts[", i, "]"), topology, &plan);
  }
  return plan;
}

}  // namespace bfly::control
