// SPDX-License-Identifier: Apache-2.0
// Small topologies, and the errors of topologies.
#pragma once

#include <string>
#include <vector>

#include "control/topology_file/validate.h"

namespace bfly::control {

inline void Place(v1::Topology& topology, const std::string& stages,
                  const std::string& data_plane) {
  v1::StagePlacement* placement = topology.add_placement();
  placement->set_stages(stages);
  placement->set_data_plane(data_plane);
}

inline void AddPort(v1::Topology& topology, const std::string& name, const std::string& rows,
                    const std::string& data_plane = "") {
  v1::HostPort* port = topology.add_ports();
  port->set_name(name);
  port->set_device("net_null");
  port->set_rows(rows);
  port->set_data_plane(data_plane);
}

inline void AddTrunk(v1::Topology& topology, uint32_t after, const std::string& from,
                     const std::string& to) {
  v1::Trunk* trunk = topology.add_trunks();
  trunk->set_name("t" + std::to_string(after));
  trunk->set_after_stage(after);
  trunk->set_from(from);
  trunk->set_from_device("net_memif" + std::to_string(after) + ",role=server");
  trunk->set_to(to);
  trunk->set_to_device("net_memif" + std::to_string(after) + ",role=client");
}

// A butterfly of 8 rows: stages 0, 1, 2.
inline v1::Topology Butterfly8() {
  v1::Topology topology;
  topology.set_name("t");
  topology.mutable_network()->set_kind(v1::BUTTERFLY);
  topology.mutable_network()->set_rows(8);
  return topology;
}

inline v1::Topology Whole() {
  v1::Topology topology = Butterfly8();
  Place(topology, "0-2", "");
  return topology;
}

// Stages 0-1 on a, stage 2 on b.
inline v1::Topology Split() {
  v1::Topology topology = Butterfly8();
  topology.add_data_planes()->set_name("a");
  topology.add_data_planes()->set_name("b");
  Place(topology, "0-1", "a");
  Place(topology, "2", "b");
  AddTrunk(topology, 1, "a", "b");
  return topology;
}

// All errors, as "field: message".
inline std::vector<std::string> Wrong(v1::Topology topology) {
  std::vector<std::string> messages;
  for (const Violation& violation : CheckTopology(&topology)) {
    messages.push_back(ToString(violation));
  }
  return messages;
}

}  // namespace bfly::control
