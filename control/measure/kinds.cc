// SPDX-License-Identifier: Apache-2.0
#include "control/measure/kinds.h"

#include "control/measure/circuits/circuit_experiment.h"
#include "control/measure/packets/packet_experiment.h"

namespace bfly::control {

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"circuit protocols", "protocol", "name, protocol and d", NewCircuitExperiment},
      {"packets", nullptr, "name, network, d and rho", NewPacketExperiment},
  };
  return kinds;
}

}  // namespace bfly::control
