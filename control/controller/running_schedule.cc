// SPDX-License-Identifier: Apache-2.0
#include "control/controller/running_schedule.h"

#include <random>
#include <utility>

#include "control/controller/schedule_message.h"
#include "control/controller/schedule_request.h"

namespace bfly::control {

RunningSchedule NewSchedule(RoutedSchedule routed, std::vector<Fault> faults) {
  std::random_device random;
  RunningSchedule begun{.id = (uint64_t{random()} << 32 | random()) | 1,
                        .routed = std::move(routed),
                        .faults = std::move(faults),
                        .repair_from = {}};
  if (BrokenSlots(begun.routed) > 0) begun.repair_from = 0;
  return begun;
}

RunningSchedule HeldSchedule(const v1::AgentScheduleRequest& held, const Intent& intent) {
  RoutedSchedule routed = RoutedScheduleOf(held, intent.state);
  CountBroken(intent.state.faults(), routed);
  RunningSchedule running = NewSchedule(std::move(routed), intent.state.faults().down());
  running.id = held.id();
  running.version = held.version();
  running.repairs = held.repairs();
  return running;
}

std::shared_ptr<const RunningSchedule> AfterFaults(const Intent& intent, const Interrupt& interrupt,
                                                   const RunningSchedule& running) {
  std::vector<Fault> faults = intent.state.faults().down();
  const bool counted = faults == running.faults;
  if (counted && !running.repair_from.has_value()) return nullptr;
  const auto next = std::make_shared<RunningSchedule>(running);
  if (!counted) {
    next->faults = std::move(faults);
    CountBroken(intent.state.faults(), next->routed);
    next->repair_from = 0;
  }
  const bool repairs = RepairsCircuits(intent);
  const bool changed =
      repairs && RepairBroken(intent.state, interrupt, *next->repair_from, next->routed);
  if (!repairs || next->repair_from == next->routed.slots.size()) next->repair_from.reset();
  if (changed) {
    ++next->version;
    ++next->repairs;
  }
  return next;
}

absl::StatusOr<uint32_t> RouteAnew(const Intent& intent, const Interrupt& interrupt,
                                   RunningSchedule& running) {
  running.faults = intent.state.faults().down();
  running.repair_from.reset();
  const auto changed = RouteAgain(intent.state, running.routed, interrupt);
  if (changed.ok() && *changed > 0) {
    ++running.version;
    ++running.repairs;
  }
  return changed;
}

}  // namespace bfly::control
