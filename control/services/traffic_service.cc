// SPDX-License-Identifier: Apache-2.0
#include "control/services/traffic_service.h"

#include "control/services/interrupt_of.h"
#include "control/status/field_errors.h"
#include "control/status/grpc_status.h"

namespace bfly::control {

grpc::Status TrafficService::Start(const grpc::ServerContextBase* context,
                                   const v1::StartTrafficRequest* request,
                                   v1::StartTrafficResponse*) {
  if (request->sources().empty()) {
    return ToGrpc(ErrorAtField(absl::StatusCode::kInvalidArgument, "sources",
                               "none is given; Stop ends what runs"));
  }
  return ToGrpc(controller_.traffic().Start({request->sources().begin(), request->sources().end()},
                                            request->election_id(), AnswerDeadlineOf(context)));
}

grpc::Status TrafficService::Stop(const grpc::ServerContextBase* context,
                                  const v1::StopTrafficRequest* request, v1::StopTrafficResponse*) {
  return ToGrpc(controller_.traffic().Stop({request->names().begin(), request->names().end()},
                                           request->election_id(), AnswerDeadlineOf(context)));
}

grpc::Status TrafficService::List(const grpc::ServerContextBase* context,
                                  const v1::ListTrafficRequest* request,
                                  v1::ListTrafficResponse* response) {
  absl::StatusOr<v1::ListTrafficResponse> listed =
      controller_.traffic().List(request->histogram(), AnswerDeadlineOf(context));
  if (!listed.ok()) return ToGrpc(listed.status());
  response->Swap(&*listed);
  return grpc::Status::OK;
}

}  // namespace bfly::control
