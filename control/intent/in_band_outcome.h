// SPDX-License-Identifier: Apache-2.0
// What the stage workers did by themselves, as the controller answers it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bfly/v1/in_band.pb.h"
#include "control/intent/fabric_state.h"

namespace bfly::control {

struct InBandOutcome {
  std::shared_ptr<const Network> network;
  RouteResult route;                      // without a path if it was a release
  std::vector<StandingCircuit> circuits;  // set up, or released
  v1::InBandReport report;
  // For reads: how many paths end at the disk of a single read, or at the fullest disk of many; the
  // threshold that disks had; and how many copies an object has.
  uint32_t disk_contention = 0;
  uint32_t c_disk = 0;
  uint32_t copies = 0;
};

}  // namespace bfly::control
