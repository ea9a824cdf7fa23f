// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Traffic over a Controller.
#pragma once

#include "bfly/v1/traffic.pb.h"
#include "control/controller/controller.h"
#include "control/services/byte_service.h"

namespace bfly::control {

class TrafficService final : public ByteService {
 public:
  TrafficService(Controller& controller, CallDesk& desk)
      : ByteService("bfly.v1.Traffic", desk), controller_(controller) {
    using enum CallDesk::Lane;
    AddCall("Start", kChange, &TrafficService::Start);
    AddCall("Stop", kChange, &TrafficService::Stop);
    AddCall("List", kRead, &TrafficService::List);
  }

  grpc::Status Start(const grpc::ServerContextBase*, const v1::StartTrafficRequest* request,
                     v1::StartTrafficResponse*);
  grpc::Status Stop(const grpc::ServerContextBase*, const v1::StopTrafficRequest* request,
                    v1::StopTrafficResponse*);

  grpc::Status List(const grpc::ServerContextBase*, const v1::ListTrafficRequest*,
                    v1::ListTrafficResponse* response);

 private:
  Controller& controller_;
};

}  // namespace bfly::control
