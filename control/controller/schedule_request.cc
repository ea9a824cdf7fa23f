// SPDX-License-Identifier: Apache-2.0
#include "control/controller/schedule_request.h"

#include <memory>
#include <mutex>
#include <optional>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"
#include "control/topology_file/schedule_file.h"

namespace bfly::control {

absl::Status CheckScheduleRequest(v1::Schedule* schedule) {
  FieldErrors errors;
  for (const Violation& violation : CheckSchedule(schedule)) {
    errors.Add(absl::StrCat("schedule", violation.field.empty() ? "" : ".", violation.field),
               violation.message);
  }
  return errors.ToStatus();
}

absl::Status AtSchedule(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsCancelled(status)
             ? status
             : WithPrefix(status, "schedule");
}

absl::Status CheckWayBack(const v1::Schedule& schedule, const Intent& intent) {
  return AtSchedule(CheckWayBack(schedule, intent.ingress().name(),
                                 intent.planes[intent.plane_of_stage.back()]->name()));
}

bool RepairsCircuits(const Intent& intent) {
  return intent.topology.circuits().on_failure() == v1::CircuitPolicy::REPAIR;
}

absl::StatusOr<v1::ScheduleStatus> ScheduleDryRuns::Route(const v1::Schedule& schedule,
                                                          const LoadedIntent& intent,
                                                          const Interrupt& interrupt) {
  // Who waits would keep a thread that changes need.
  const std::unique_lock turn(turn_, std::try_to_lock);
  if (!turn.owns_lock()) {
    return absl::ResourceExhaustedError(
        "another dry run of a schedule chooses its paths; ask again when it has ended");
  }
  std::shared_ptr<const Network> network;
  std::optional<Links> links;
  std::optional<LinkLoad> load;
  absl::Status led_back;
  const absl::Status read = intent.Read([&](const Intent& now) {
    led_back = CheckWayBack(schedule, now);
    network = now.state.shared_network();
    links.emplace(now.state.links());
    load.emplace(now.state.load());
  });
  if (!read.ok()) return read;
  if (!led_back.ok()) return led_back;
  const auto routed = RouteSchedule(schedule, *links, *load, interrupt);
  if (!routed.ok()) return AtSchedule(routed.status());
  v1::ScheduleStatus status;
  FillPaths(*routed, network->rows(), &status);
  return status;
}

}  // namespace bfly::control
