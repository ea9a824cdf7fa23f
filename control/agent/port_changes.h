// SPDX-License-Identifier: Apache-2.0
// Gives a running fabric the host ports that it should have. No gRPC.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bfly/v1/topology.pb.h"
#include "dataplane/fabric/fabric.h"

namespace bfly::control {

// Whether clients may name this device. The error begins with the field.
using DeviceCheck =
    std::function<absl::Status(const std::string& field, const std::string& device)>;

// Removes and adds host ports until the fabric has the ports of `wanted`, and tells it the rows
// that have a port elsewhere. If a port cannot be added, the fabric has its previous ports, and the
// error begins with the field of that port, "port.rows". Previous ports that could not be added
// again are named at the end of the error, and their names are appended to `lost`. `check` may be
// null.
absl::Status ChangePorts(const dataplane::FabricConfig& wanted, const DeviceCheck& check,
                         dataplane::Fabric& fabric, std::vector<std::string>& lost);

// Removes the ports of these names from the topology, and the hosts at them.
void RemovePorts(const std::vector<std::string>& names, v1::Topology& topology);

}  // namespace bfly::control
