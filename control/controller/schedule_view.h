// SPDX-License-Identifier: Apache-2.0
// What a client is told of the schedule: what the controller wants, and what the data plane does.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/controller/agent_caller.h"
#include "control/controller/data_plane.h"
#include "control/controller/deadline.h"
#include "control/controller/running_schedule.h"

namespace bfly::control {

// Holds what the controller knows of the loaded fabric's schedule at one moment.
struct ScheduleView {
  std::shared_ptr<const DataPlane> ingress;  // the data plane of stage 0
  std::shared_ptr<const Network> network;
  std::optional<v1::Schedule> kept;                // of the intent
  bool compared = false;                           // the controller knows what the data plane runs
  std::shared_ptr<const RunningSchedule> running;  // null: none runs
  std::string problem;                             // of the last look; empty: it had none
};

// Without what the controller knows of the data plane.
ScheduleView ViewOf(const Intent& intent);

// Asks the data plane. A schedule that the data plane does not run is `kept`, with the problem.
// UNAVAILABLE: the data plane does not answer, belongs to somebody else, or runs a schedule that is
// not taken over yet.
absl::StatusOr<v1::GetScheduleResponse> AnswerOf(ScheduleView view, const AgentCaller& caller,
                                                 Deadline deadline);
// Corrects the answer of a data plane that was asked while the schedule changed. It puts
// UNAVAILABLE in the place of `kept`, because what the data plane did not run may begin or have
// ended.
absl::StatusOr<v1::GetScheduleResponse> AmidChange(absl::StatusOr<v1::GetScheduleResponse> answer);

}  // namespace bfly::control
