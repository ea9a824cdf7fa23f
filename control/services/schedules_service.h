// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Schedules over a ScheduleControl.
#pragma once

#include "bfly/v1/schedules.pb.h"
#include "control/controller/schedule_control.h"
#include "control/services/byte_service.h"

namespace bfly::control {

class SchedulesService final : public ByteService {
 public:
  SchedulesService(ScheduleControl& control, CallDesk& desk)
      : ByteService("bfly.v1.Schedules", desk), control_(control) {
    using enum CallDesk::Lane;
    AddCall("Start", kChange, &SchedulesService::Start);
    AddCall("Stop", kChange, &SchedulesService::Stop);
    AddCall("Repair", kChange, &SchedulesService::Repair);
    AddCall("Get", kRead, &SchedulesService::Get);
  }

  grpc::Status Start(const grpc::ServerContextBase*, const v1::StartScheduleRequest* request,
                     v1::StartScheduleResponse* response);
  grpc::Status Stop(const grpc::ServerContextBase*, const v1::StopScheduleRequest* request,
                    v1::StopScheduleResponse* response);
  grpc::Status Repair(const grpc::ServerContextBase*, const v1::RepairScheduleRequest* request,
                      v1::RepairScheduleResponse* response);
  grpc::Status Get(const grpc::ServerContextBase*, const v1::GetScheduleRequest*,
                   v1::GetScheduleResponse* response);

 private:
  ScheduleControl& control_;
};

}  // namespace bfly::control
