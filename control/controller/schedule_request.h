// SPDX-License-Identifier: Apache-2.0
// Checks whether a schedule can run on the loaded fabric, and chooses its paths.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/controller/intent.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/timed_lock.h"
#include "control/intent/slot_paths.h"

namespace bfly::control {

// Checks the values of a request and fills in defaults. InvalidArgument: names every field that is
// wrong.
absl::Status CheckScheduleRequest(v1::Schedule* schedule);

// Names the field of the request where `status`, an error of routing, names one of the schedule.
absl::Status AtSchedule(const absl::Status& status);

// As CheckWayBack of the data planes of the first and of the last stage, and names the field of the
// request.
absl::Status CheckWayBack(const v1::Schedule& schedule, const Intent& intent);

// Whether circuits over a link that goes down are set up again over other links.
bool RepairsCircuits(const Intent& intent);

// Chooses paths without starting a schedule. Thread-safe.
class ScheduleDryRuns {
 public:
  // Chooses the paths on the loaded fabric as it is now, without the change lock.
  // ResourceExhausted: another dry run chooses its paths.
  absl::StatusOr<v1::ScheduleStatus> Route(const v1::Schedule& schedule, const LoadedIntent& intent,
                                           const Interrupt& interrupt);

 private:
  TimedLock turn_;  // one at a time, because the paths take up to 100 MB
};

}  // namespace bfly::control
