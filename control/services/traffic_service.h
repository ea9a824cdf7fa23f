// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Traffic over a Controller.
#pragma once

#include "bfly/v1/traffic.grpc.pb.h"
#include "control/services/controller.h"

namespace bfly::control {

class TrafficService final : public v1::Traffic::Service {
 public:
  explicit TrafficService(Controller& controller) : controller_(controller) {}

  grpc::Status Start(grpc::ServerContext*, const v1::StartTrafficRequest* request,
                     v1::StartTrafficResponse*) override;
  grpc::Status Stop(grpc::ServerContext*, const v1::StopTrafficRequest* request,
                    v1::StopTrafficResponse*) override;

  grpc::Status List(grpc::ServerContext*, const v1::ListTrafficRequest*,
                    v1::ListTrafficResponse* response) override;

 private:
  Controller& controller_;
};

}  // namespace bfly::control
