// SPDX-License-Identifier: Apache-2.0
// Circuits as the messages to an agent name them.
#pragma once

#include "bfly/v1/agent.pb.h"
#include "control/intent/order.h"

namespace bfly::control {

inline void AddInstall(const StandingCircuit& circuit, v1::AgentUpdateRequest* request) {
  v1::AgentCircuit* install = request->add_install();
  install->set_input(circuit.path.input);
  install->set_tag(circuit.path.tag);
  install->set_id(circuit.id);
  if (circuit.object.has_value()) install->set_object(*circuit.object);
}

}  // namespace bfly::control
