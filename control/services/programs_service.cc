// SPDX-License-Identifier: Apache-2.0
#include "control/services/programs_service.h"

#include <utility>

#include "control/services/interrupt_of.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

// programs.proto has a service and no message of its own, so nothing else would have its
// description linked, which reflection and the audit log read.
[[gnu::used]] const void* const kDescription = &descriptor_table_bfly_2fv1_2fprograms_2eproto;

}  // namespace

grpc::Status ProgramsService::Route(const grpc::ServerContextBase* context,
                                    const v1::RouteRequest* request, v1::RouteReport* response) {
  absl::StatusOr<v1::RouteReport> report =
      controller_.programs().Route(*request, InBandPatienceOf(context));
  if (!report.ok()) return ToGrpc(report.status());
  response->Swap(&*report);
  return grpc::Status::OK;
}

grpc::Status ProgramsService::DryRun(const grpc::ServerContextBase* context,
                                     const v1::RouteRequest* request,
                                     v1::RouteRecording* response) {
  absl::StatusOr<v1::RouteRecording> recording =
      controller_.programs().DryRun(*request, InterruptOf(context, /*answer_in_time=*/false));
  if (!recording.ok()) return ToGrpc(recording.status());
  response->Swap(&*recording);
  return grpc::Status::OK;
}

}  // namespace bfly::control
