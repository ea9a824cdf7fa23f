// SPDX-License-Identifier: Apache-2.0
#include "control/services/schedules_service.h"

#include <utility>

#include "control/services/interrupt_of.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

grpc::Status SchedulesService::Start(const grpc::ServerContextBase* context,
                                     const v1::StartScheduleRequest* request,
                                     v1::StartScheduleResponse* response) {
  absl::StatusOr<v1::ScheduleStatus> status = control_.Start(
      *request, AnswerDeadlineOf(context), InterruptOf(context, /*answer_in_time=*/false));
  if (!status.ok()) return ToGrpc(status.status());
  *response->mutable_status() = *std::move(status);
  return grpc::Status::OK;
}

grpc::Status SchedulesService::Stop(const grpc::ServerContextBase* context,
                                    const v1::StopScheduleRequest* request,
                                    v1::StopScheduleResponse* response) {
  absl::StatusOr<v1::ScheduleStatus> last =
      control_.Stop(request->election_id(), AnswerDeadlineOf(context));
  if (!last.ok()) return ToGrpc(last.status());
  *response->mutable_last() = *std::move(last);
  return grpc::Status::OK;
}

grpc::Status SchedulesService::Repair(const grpc::ServerContextBase* context,
                                      const v1::RepairScheduleRequest* request,
                                      v1::RepairScheduleResponse* response) {
  absl::StatusOr<v1::RepairScheduleResponse> repaired =
      control_.Repair(request->election_id(), AnswerDeadlineOf(context),
                      InterruptOf(context, /*answer_in_time=*/false));
  if (!repaired.ok()) return ToGrpc(repaired.status());
  *response = *std::move(repaired);
  return grpc::Status::OK;
}

grpc::Status SchedulesService::Get(const grpc::ServerContextBase* context,
                                   const v1::GetScheduleRequest*,
                                   v1::GetScheduleResponse* response) {
  absl::StatusOr<v1::GetScheduleResponse> state = control_.Get(AnswerDeadlineOf(context));
  if (!state.ok()) return ToGrpc(state.status());
  *response = *std::move(state);
  return grpc::Status::OK;
}

}  // namespace bfly::control
