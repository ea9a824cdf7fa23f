// SPDX-License-Identifier: Apache-2.0
// Tells a fabric which of its links are down. A fabric knows only links, so a node that is down is
// told as its links. No gRPC.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "dataplane/fabric/fabric.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// Has the fabric that is loaded with `config`, which is verified, begin with these faults.
// INVALID_ARGUMENT: the network has no such link or node, or another data plane runs the link.
absl::Status BeginWithFaults(const std::vector<Fault>& down, dataplane::FabricConfig& config);

// Sets the fault in `faults`, and takes the links of it that the fabric runs down or brings them
// back. INVALID_ARGUMENT as above; then nothing is changed.
absl::Status TellFabric(const Fault& fault, bool down, dataplane::Fabric& fabric, FaultSet& faults);

// Has packets go around switches that count as faulty.
void TellAvoided(const FaultSet& faults, dataplane::Fabric& fabric);

}  // namespace bfly::control
