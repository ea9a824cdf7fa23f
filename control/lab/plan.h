// SPDX-License-Identifier: Apache-2.0
// What `bfly lab up` makes of the hosts of a topology: namespaces, and veth pairs between them and
// the data plane. A plan is a value; nothing is made here.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/topology.pb.h"

namespace bfly::control {

// How a network namespace is found.
struct NamespaceRef {
  enum class Kind { kCaller, kNamed, kProcess };
  Kind kind = Kind::kCaller;
  std::string name;  // of a named one, as `ip netns` shows it
  pid_t pid = 0;     // of a process

  static NamespaceRef Named(std::string name) { return {Kind::kNamed, std::move(name), 0}; }
  static NamespaceRef OfProcess(pid_t pid) { return {Kind::kProcess, "", pid}; }
  // The file that stands for it.
  std::string path() const;
  // "network namespace demo-h0", for messages.
  std::string text() const;
  friend bool operator==(const NamespaceRef&, const NamespaceRef&) = default;
};

struct PlannedNamespace {
  std::string name;
  std::string field;         // of the topology, for errors about it
  bool may_be_used = false;  // one that is there already is used as it is, and kept
  friend bool operator==(const PlannedNamespace&, const PlannedNamespace&) = default;
};

struct PlannedRoute {
  std::string to, via;
  friend bool operator==(const PlannedRoute&, const PlannedRoute&) = default;
};

// A veth pair. One end is the port of the fabric, the other is the host's interface.
struct PlannedLink {
  std::string field;  // "hosts[0]"
  NamespaceRef port_namespace;
  std::string port_interface;
  NamespaceRef host_namespace;
  std::string host_interface;
  std::string host_mac;  // the address of the host's first row, "02:bf:00:00:00:03"
  uint32_t mtu = 0;
  uint32_t queues = 1;  // each way
  bool ipv6 = false;    // otherwise IPv6 is switched off, so that Linux sends nothing by itself
  std::vector<std::string> addresses;
  std::vector<PlannedRoute> routes;
  friend bool operator==(const PlannedLink&, const PlannedLink&) = default;
};

// An interface that must be there already.
struct NeededInterface {
  std::string field;
  NamespaceRef where;
  std::string interface;
  friend bool operator==(const NeededInterface&, const NeededInterface&) = default;
};

// What `bfly lab status` and `bfly lab exec` know of a host.
struct LabHost {
  std::string name, kind, rows;
  bool has_namespace = false;
  NamespaceRef where;     // if it has a namespace
  std::string interface;  // in there
  std::string port;       // the interface or the socket that is the port
  std::vector<std::string> addresses;
  friend bool operator==(const LabHost&, const LabHost&) = default;
};

struct LabPlan {
  std::string name;
  NamespaceRef fabric;  // where the data plane runs
  std::vector<PlannedNamespace> namespaces;
  std::vector<PlannedLink> links;
  std::vector<NeededInterface> needed;
  std::vector<LabHost> hosts;
  friend bool operator==(const LabPlan&, const LabPlan&) = default;
};

// The plan of a topology that the reader or CheckTopology has accepted. Namespaces are called
// LAB-HOST, and that of the data plane LAB-fabric, unless the topology names one, or a host is an
// interface of the caller's namespace, which is then the data plane's. InvalidArgument: the name is
// not one, or the topology has no hosts.
absl::StatusOr<LabPlan> PlanLab(const v1::Topology& topology, const std::string& name);

}  // namespace bfly::control
