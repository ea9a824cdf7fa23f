// SPDX-License-Identifier: Apache-2.0
// The parts of ValidateTopology, and what the parts share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bfly/v1/topology.pb.h"
#include "control/topology_file/diagnostic.h"
#include "control/topology_file/host_ports.h"
#include "topologies/network.h"

namespace bfly::control::validation {

inline constexpr int kNobody = -1;

struct Context {
  Context(const v1::Topology& checked, std::vector<Violation>& found)
      : topology(checked), violations(found), port_fields(PortFields(checked)) {}

  const v1::Topology& topology;
  std::vector<Violation>& violations;
  const std::vector<std::string> port_fields;  // by port: "ports[2]", or "hosts[0]" for a host's

  std::optional<Network> network;          // absent if it is wrong
  std::map<std::string, int> data_planes;  // index by name
  std::vector<int> owner;                  // by stage: its data plane, kNobody if unknown
  bool placed = false;                     // every stage has exactly one owner

  void Report(std::string field, std::string value, std::string message) {
    violations.push_back({std::move(field), std::move(value), std::move(message)});
  }
  const std::string& DataPlaneName(int index) const { return topology.data_planes(index).name(); }
  std::string DataPlaneNames() const;
  // Returns the index of the data plane called `name`. An unknown name is reported at `field` and
  // gives kNobody, and so does an empty name, which is reported only if `required`.
  int FindDataPlane(const std::string& field, const std::string& name, bool required);
  // Reports a `name` that another thing has already; `taken` maps names to the fields that have
  // them.
  void CheckUnique(std::map<std::string, std::string>& taken, const std::string& field,
                   const std::string& name);
};

// Reports a name that is not empty and not of the form that names have.
void CheckName(Context& context, const std::string& field, const std::string& name);

void CheckNetwork(Context& context);
void CheckDataPlanes(Context& context);
void CheckAddressing(Context& context);
void CheckPlacement(Context& context);
void CheckTrunks(Context& context);
void CheckPorts(Context& context);
void CheckHosts(Context& context);
void CheckLinks(Context& context);
void CheckCircuits(Context& context);
void CheckPlannedFaults(Context& context);

}  // namespace bfly::control::validation
