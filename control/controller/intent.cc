// SPDX-License-Identifier: Apache-2.0
#include "control/controller/intent.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/agent/ownership.h"
#include "control/server/address.h"
#include "control/status/field_errors.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/to_fabric_config.h"
#include "control/topology_file/validate.h"

namespace bfly::control {
namespace {

absl::Status Check(v1::Topology* topology) {
  FieldErrors errors;
  for (const Violation& violation : CheckTopology(topology)) {
    errors.Add(absl::StrCat("topology", violation.field.empty() ? "" : ".", violation.field),
               violation.message);
  }
  return errors.ToStatus();
}

std::shared_ptr<DataPlane> FindOrMake(const v1::DataPlane& entry, const std::string& run_directory,
                                      const AgentCaller& caller, const DataPlanes& known) {
  for (const auto& plane : known) {
    if (plane->name() != entry.name()) continue;
    if (entry.address().empty() || entry.address() == plane->address()) return plane;
  }
  return std::make_shared<DataPlane>(
      entry.name(),
      entry.address().empty() ? SocketAddress(run_directory, entry.name()) : entry.address(),
      caller);
}

// Returns the name of the data plane that runs each stage. The topology was checked, so every stage
// stands there once.
absl::StatusOr<std::vector<std::string>> OwnersOf(const v1::Topology& topology, int stages) {
  std::vector<std::string> owners(stages);
  for (const v1::StagePlacement& entry : topology.placement()) {
    const auto placed = ExpandRanges(entry.stages(), stages - 1, "stage");
    if (!placed.ok()) return placed.status();
    for (uint32_t stage : *placed) owners[stage] = entry.data_plane();
  }
  return owners;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Intent>> MakeIntent(v1::Topology topology,
                                                   const std::string& run_directory,
                                                   const AgentCaller& caller,
                                                   const DataPlanes& known, uint64_t last_id) {
  if (absl::Status status = Check(&topology); !status.ok()) return status;
  absl::StatusOr<Network> network = NetworkOf(topology.network());
  if (!network.ok()) return WithPrefix(network.status(), "topology.network");
  const auto owners = OwnersOf(topology, network->stages());
  if (!owners.ok()) return owners.status();

  DataPlanes planes;
  std::map<std::string, size_t> index_of;
  std::vector<size_t> plane_of_stage;
  for (const std::string& name : *owners) {
    if (index_of.emplace(name, planes.size()).second) {
      for (const v1::DataPlane& entry : topology.data_planes()) {
        if (entry.name() == name) planes.push_back(FindOrMake(entry, run_directory, caller, known));
      }
    }
    plane_of_stage.push_back(index_of[name]);
  }
  // Data planes that run no stage come last. They are loaded too, so that mistakes in them show.
  for (const v1::DataPlane& entry : topology.data_planes()) {
    if (index_of.emplace(entry.name(), planes.size()).second) {
      planes.push_back(FindOrMake(entry, run_directory, caller, known));
    }
  }
  LinkCapacity capacity = CapacityOf(topology, *network);
  return std::unique_ptr<Intent>(
      new Intent{.topology = std::move(topology),
                 .state = FabricState(std::make_shared<const Network>(*std::move(network)), last_id,
                                      std::move(capacity)),
                 .planes = std::move(planes),
                 .plane_of_stage = std::move(plane_of_stage)});
}

absl::Status BelongsTo(const std::string& owner) {
  return absl::FailedPreconditionError(absl::StrCat(
      "belongs to another controller, ", owner,
      "; end that controller, or unload its fabric. A killed controller loses it after ",
      Ownership::kPatience.count(), " s"));
}

std::string NameForStore(const v1::Topology& topology) {
  return absl::StrCat(topology.name(), "\n", topology.network().SerializeAsString());
}

v1::AgentFabricRequest FabricRequest(const Intent& intent, const DataPlane& plane) {
  v1::AgentFabricRequest request;
  *request.mutable_topology() = intent.topology;
  request.set_data_plane(plane.name());
  *request.mutable_port_changes() = intent.port_changes;
  const Network& network = intent.state.network();
  const FaultSet& faults = intent.state.faults();
  const auto runs = [&](const Fault& fault) {
    for (const uint64_t link : faults.LinksOf(fault)) {
      const int stage = network.link_at(link).stage;
      if (intent.planes[intent.plane_of_stage[stage]].get() == &plane) return true;
    }
    return false;
  };
  for (const LinkId& link : faults.down_links()) {
    if (!runs(link)) continue;
    v1::LinkRef& down = *request.add_down_links();
    down.set_stage(static_cast<uint32_t>(link.stage));
    down.set_row(link.row);
    down.set_port(static_cast<uint32_t>(link.port));
  }
  for (const NodeId& node : faults.down_nodes()) {
    if (!runs(node)) continue;
    v1::NodeRef& down = *request.add_down_nodes();
    down.set_level(static_cast<uint32_t>(node.level));
    down.set_row(node.row);
  }
  return request;
}

}  // namespace bfly::control
