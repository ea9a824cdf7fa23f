// SPDX-License-Identifier: Apache-2.0
// Reads the network of a topology file, for the verbs that need no running fabric.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/topology.pb.h"
#include "control/intent/links.h"
#include "topologies/link_capacity.h"
#include "topologies/network.h"

namespace bfly::control {

struct NetworkFile {
  std::string name;  // of the topology
  Network network;
  v1::Network message;    // what the file says of it, with defaults filled in
  v1::Faults faults;      // CheckFaults accepted them
  LinkCapacity capacity;  // circuits that each link takes
};

// Reads and checks the whole file. The status lists all errors, each with its line.
absl::StatusOr<NetworkFile> ReadNetwork(const std::string& path);

// The links of the file's network, with the faults and capacities that the file plans. `file` must
// outlive them.
Links LinksOf(const NetworkFile& file);

}  // namespace bfly::control
