// SPDX-License-Identifier: Apache-2.0
#include "control/measure/kinds.h"

#include "control/measure/circuits/circuit_experiment.h"
#include "control/measure/packets/packet_experiment.h"
#include "control/measure/steps/step_experiment.h"
#include "control/measure/survival/survival_experiment.h"

namespace bfly::control {

const std::vector<Kind>& Kinds() {
  static const std::vector<Kind> kinds = {
      {"circuit protocols", "protocol", "name, protocol and d", NewCircuitExperiment},
      // Before those with `faults`, which some programs have too.
      {"programs in steps", "program", "name, program and d", NewStepExperiment},
      {"pairs that survive faults", "faults", "name, faults, network and d", NewSurvivalExperiment},
      {"packets", nullptr, "name, network, d and rho", NewPacketExperiment},
  };
  return kinds;
}

}  // namespace bfly::control
