// SPDX-License-Identifier: Apache-2.0
// bfly.v1.AgentSchedules over a FabricHost: the schedule of a data plane.
#pragma once

#include <mutex>
#include <optional>

#include "bfly/v1/schedules.grpc.pb.h"
#include "control/agent/fabric_host.h"

namespace bfly::control {

class AgentSchedulesService final : public v1::AgentSchedules::Service {
 public:
  explicit AgentSchedulesService(FabricHost& host) : host_(host) {}

  grpc::Status Set(grpc::ServerContext* context, const v1::AgentScheduleRequest* request,
                   v1::AgentScheduleResponse*) override;
  grpc::Status Stop(grpc::ServerContext* context, const v1::AgentScheduleStopRequest*,
                    v1::AgentScheduleStopResponse*) override;
  grpc::Status Get(grpc::ServerContext*, const v1::AgentScheduleStateRequest* request,
                   v1::AgentScheduleState* response) override;

 private:
  FabricHost& host_;
  std::mutex mutex_;
  // The schedule that was set last. It runs only if the fabric reports its id, because the fabric
  // may have been unloaded.
  std::optional<v1::AgentScheduleRequest> held_;  // mutex_
};

}  // namespace bfly::control
