// SPDX-License-Identifier: Apache-2.0
// Links and nodes that are down: as requests name them, as data planes hold them, and who runs
// them.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "control/controller/intent.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// INVALID_ARGUMENT names every field that is outside the network.
absl::StatusOr<Fault> FaultOf(const v1::SetLinkStateRequest& request, const Network& network);
absl::StatusOr<Fault> FaultOf(const v1::SetNodeStateRequest& request, const Network& network);

// Returns what is down by itself at the data plane. CheckAnswer must have agreed to `held`.
FaultSet FaultsOf(const v1::AgentState& held, const Network& network);

// Returns the data planes that run the link, or a link of the node, each once.
DataPlanes RunnersOf(const Fault& fault, const Intent& intent);

// Tells all of RunnersOf of a fault that the intent does not have yet. After an error the data
// planes that already know of the fault get the state that the intent has, and the controller
// compares those again that may know otherwise.
absl::Status TellFault(const Fault& fault, bool down, const Intent& intent, Deadline deadline);

}  // namespace bfly::control
