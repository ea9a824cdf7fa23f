// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/slots/schedule_config.h"

namespace bfly::dataplane {

// The schedule of the data plane that runs stage 0; it has at most one at a time. Thread-safe.
class Schedules {
 public:
  virtual ~Schedules() = default;
  // Starts the schedule, or replaces the one that runs. Frames that wait go over to the new
  // schedule. InvalidArgument names the field. DeadlineExceeded: a worker made no pass within two
  // seconds. It takes the schedule up in its next pass.
  virtual absl::Status Start(const ScheduleConfig& config) = 0;
  // Ends the schedule. Frames that wait are dropped as slot_missed. Returns what the schedule did,
  // these drops included. FailedPrecondition: no schedule runs. DeadlineExceeded: a worker made no
  // pass within two seconds. Its part of the schedule ends in its next pass.
  virtual absl::StatusOr<ScheduleReport> Stop() = 0;
  // FailedPrecondition: no schedule runs.
  virtual absl::StatusOr<ScheduleReport> Report() const = 0;
  // Whether workers look for packets that turn back at an intermediate row: from the start of a
  // schedule with kVlb, until after its end no such packet is left.
  virtual bool turns_back() const = 0;
};

}  // namespace bfly::dataplane
