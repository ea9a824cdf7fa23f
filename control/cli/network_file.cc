// SPDX-License-Identifier: Apache-2.0
#include "control/cli/network_file.h"

#include <utility>

#include "control/topology_file/planned_faults.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {

absl::StatusOr<NetworkFile> ReadNetwork(const std::string& path) {
  const absl::StatusOr<v1::Topology> topology = ReadTopologyFile(path);
  if (!topology.ok()) return topology.status();
  absl::StatusOr<Network> network = NetworkOf(topology->network());
  if (!network.ok()) return network.status();
  LinkCapacity capacity = CapacityOf(*topology, *network);
  return NetworkFile{.name = topology->name(),
                     .network = *std::move(network),
                     .message = topology->network(),
                     .faults = topology->faults(),
                     .capacity = std::move(capacity)};
}

Links LinksOf(const NetworkFile& file) {
  Links links(file.network, file.capacity);
  const FaultSet planned = PlannedFaults(file.faults, file.network);
  for (const Fault& fault : planned.down()) links.SetFault(fault, /*down=*/true);
  return links;
}

}  // namespace bfly::control
