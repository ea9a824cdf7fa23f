// SPDX-License-Identifier: Apache-2.0
// The controller's side of bfly.v1.AgentSchedules, one data plane each. No gRPC types here.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/schedules.pb.h"
#include "control/controller/agent_caller.h"
#include "control/controller/deadline.h"

namespace bfly::control {

// Thread-safe. Calls end and fail as those of AgentClient do.
class ScheduleClient {
 public:
  ScheduleClient(std::string address, const AgentCaller& caller);
  ~ScheduleClient();

  const std::string& address() const { return address_; }
  absl::Status Set(const v1::AgentScheduleRequest& request, Deadline deadline);
  absl::Status Stop(Deadline deadline);
  absl::StatusOr<v1::AgentScheduleState> Get(bool slots, bool counters, Deadline deadline);

 private:
  struct Connection;
  const std::string address_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace bfly::control
