// SPDX-License-Identifier: Apache-2.0
// Topologies whose host ports were changed live. Pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/topology.pb.h"

namespace bfly::control {

// Whether two topologies differ in nothing but host ports, and hosts.
bool SameButPorts(const v1::Topology& a, const v1::Topology& b);

// Adds a port to a complete topology. INVALID_ARGUMENT names every field that is wrong, those of
// the port under "port".
absl::Status AddPortTo(const v1::HostPort& port, v1::Topology* topology);
// Removes a port, and the host that has it. NOT_FOUND: it has no such port.
absl::Status RemovePortFrom(const std::string& name, v1::Topology* topology);

// Notes one more change.
void NoteAdded(const v1::HostPort& port, v1::PortChanges* changes);
void NoteRemoved(const std::string& name, v1::PortChanges* changes);

// Makes the changes to a topology. A port that it has already, or has no more, is passed over. An
// error says which change does not fit.
absl::Status ApplyPortChanges(const v1::PortChanges& changes, v1::Topology* topology);

}  // namespace bfly::control
