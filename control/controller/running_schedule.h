// SPDX-License-Identifier: Apache-2.0
// The schedule that runs on a loaded fabric.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/controller/intent.h"
#include "control/intent/slot_paths.h"

namespace bfly::control {

struct RunningSchedule {
  uint64_t id = 0;
  uint32_t version = 1;
  uint32_t repairs = 0;
  RoutedSchedule routed;
  std::vector<Fault> faults;  // that `routed` was looked at for
  // The slots from here on are yet to be repaired around these faults; nothing: no slot is.
  std::optional<size_t> repair_from;
};

// One that begins, with paths that were chosen when these faults were down.
RunningSchedule NewSchedule(RoutedSchedule routed, std::vector<Fault> faults);
// The one that a data plane holds.
RunningSchedule HeldSchedule(const v1::AgentScheduleRequest& held, const Intent& intent);

// Compares with the faults of now, and repairs slots until `interrupt` has an error. Returns the
// schedule as it is then, after a repair with another version; null: nothing changed.
std::shared_ptr<const RunningSchedule> AfterFaults(const Intent& intent, const Interrupt& interrupt,
                                                   const RunningSchedule& running);
// Routes every slot again, as RouteAgain does. The version is another one if paths changed.
absl::StatusOr<uint32_t> RouteAnew(const Intent& intent, const Interrupt& interrupt,
                                   RunningSchedule& running);

}  // namespace bfly::control
