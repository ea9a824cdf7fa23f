// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Programs over a Controller.
#pragma once

#include "bfly/v1/programs.pb.h"
#include "control/controller/controller.h"
#include "control/services/byte_service.h"

namespace bfly::control {

class ProgramsService final : public ByteService {
 public:
  ProgramsService(Controller& controller, CallDesk& desk)
      : ByteService("bfly.v1.Programs", desk), controller_(controller) {
    AddCall("Route", CallDesk::Lane::kProgram, &ProgramsService::Route);
    AddCall("DryRun", CallDesk::Lane::kDryRun, &ProgramsService::DryRun);
  }

  grpc::Status Route(const grpc::ServerContextBase* context, const v1::RouteRequest* request,
                     v1::RouteReport* response);
  grpc::Status DryRun(const grpc::ServerContextBase* context, const v1::RouteRequest* request,
                      v1::RouteRecording* response);

 private:
  Controller& controller_;
};

}  // namespace bfly::control
