// SPDX-License-Identifier: Apache-2.0
// Schedule files: bfly.v1.Schedule written as YAML (docs/schedules.md).
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/topology_file/diagnostic.h"

namespace bfly::control {

// Fills in defaults, and returns every field that breaks its rule or contradicts another one. What
// depends on the network is not looked at. Of rows that stand twice in a slot the first hundred are
// returned.
std::vector<Violation> CheckSchedule(v1::Schedule* schedule);

// Complete. "-" reads standard input. InvalidArgument has all errors, each with its line; NotFound,
// PermissionDenied or FailedPrecondition if the file cannot be read.
absl::StatusOr<v1::Schedule> ReadScheduleFile(const std::string& path);

// Of a schedule that CheckSchedule accepts.
uint64_t SlotNsOf(const v1::Schedule& schedule);
uint64_t GuardNsOf(const v1::Schedule& schedule);

}  // namespace bfly::control
