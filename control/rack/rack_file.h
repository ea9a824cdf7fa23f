// SPDX-License-Identifier: Apache-2.0
// Rack files: bfly.v1.RackFile written as YAML, and what it says as plain values.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/rack.pb.h"
#include "control/rack/rack.h"

namespace bfly::control {

// Reads `path` ("-": standard input), lays `settings` ("most_busy=0.5", any key) over it and
// fills in the defaults. The status lists all errors, one a line.
absl::StatusOr<v1::RackFile> ReadRackFile(const std::string& path,
                                          const std::vector<std::string>& settings);

CoreCosts CostsOf(const v1::RackFile& file);
ServerShape ServerOf(const v1::RackFile& file);

// A rack of the file: one for each cut, frame size, speed and number of host ports.
struct RackCase {
  std::string network = {};
  std::string frames = {};
  std::string cut = {};
  RackDemand demand = {};
  Rack rack = {};
};

// Computes all of them. InvalidArgument names the key and the value that do not fit together.
absl::StatusOr<std::vector<RackCase>> PlanRacks(const v1::RackFile& file);

// A measurement of the file beside what the model says of it, in million frames a second.
struct RackCheck {
  v1::RackMeasurement measured;
  double predicted = 0;
  double error_percent() const { return 100 * (predicted / measured.mpps() - 1); }
};

// Of fabrics with 2^stages rows, 64-byte frames with FCS and both ports on every server.
std::vector<RackCheck> CheckRack(const v1::RackFile& file);

}  // namespace bfly::control
