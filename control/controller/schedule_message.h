// SPDX-License-Identifier: Apache-2.0
// A routed schedule as the message that its data plane gets and holds.
#pragma once

#include <cstdint>

#include "bfly/v1/events.pb.h"
#include "bfly/v1/schedules.pb.h"
#include "control/intent/slot_paths.h"

namespace bfly::control {

v1::AgentScheduleRequest ScheduleMessageOf(uint64_t id, uint32_t version,
                                           const RoutedSchedule& routed, uint32_t rows);

// The schedule that a data plane holds, with the paths of each slot by input and with no path
// counted as broken.
RoutedSchedule RoutedScheduleOf(const v1::AgentScheduleRequest& held, const FabricState& state);

v1::Event ScheduleEventOf(v1::ScheduleEvent::Change change, const RoutedSchedule& routed);

}  // namespace bfly::control
