// SPDX-License-Identifier: Apache-2.0
// The controller's side of bfly.v1.AgentSchedules, one data plane each. No gRPC types here.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/controller/agent_caller.h"
#include "control/controller/data_plane.h"
#include "control/controller/deadline.h"

namespace bfly::control {

// Thread-safe. Calls end as those of AgentClient do, with the same codes; every error names the
// data plane.
class ScheduleClient {
 public:
  ScheduleClient(const DataPlane& plane, const AgentCaller& caller);
  ~ScheduleClient();

  bool IsOf(const DataPlane& plane) const {
    return name_ == plane.name() && address_ == plane.address();
  }
  absl::Status Set(const v1::AgentScheduleRequest& request, Deadline deadline);
  // Has counters if a schedule ran.
  absl::StatusOr<v1::AgentScheduleStopResponse> Stop(Deadline deadline);
  // The schedule that runs, with what it says and its circuits only if `slots`.
  absl::StatusOr<v1::AgentScheduleState> Get(bool slots, bool counters, Deadline deadline);

 private:
  struct Connection;
  // The same error with the name of the data plane before its message.
  absl::Status AtPlane(const absl::Status& status) const;

  const std::string name_;
  const std::string address_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace bfly::control
