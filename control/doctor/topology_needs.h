// SPDX-License-Identifier: Apache-2.0
// What one topology needs of the machine: CPUs, memory and devices.
#pragma once

#include <string>
#include <vector>

#include "bfly/v1/topology.pb.h"
#include "control/doctor/check.h"
#include "control/doctor/machine.h"

namespace bfly::control {

struct NamedFinding {
  std::string name;  // such as "dp0 lcores"
  Finding finding;
};

// Judges the data planes that `bfly up` would start on this machine. The topology is complete, as
// the reader returns it.
std::vector<NamedFinding> TopologyNeeds(const v1::Topology& topology, const Machine& machine);

}  // namespace bfly::control
