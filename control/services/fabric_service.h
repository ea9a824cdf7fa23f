// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Fabric over a Controller.
#pragma once

#include "bfly/v1/fabric.grpc.pb.h"
#include "control/services/controller.h"
#include "control/services/counter_poll.h"

namespace bfly::control {

class FabricService final : public v1::Fabric::WithCallbackMethod_Arbitrate<v1::Fabric::Service> {
 public:
  FabricService(Controller& controller, CounterPoll& poll) : controller_(controller), poll_(poll) {}

  grpc::Status Verify(grpc::ServerContext*, const v1::VerifyRequest* request,
                      v1::VerifyResponse*) override;
  grpc::Status Load(grpc::ServerContext*, const v1::LoadRequest* request,
                    v1::LoadResponse* response) override;
  grpc::Status Unload(grpc::ServerContext*, const v1::UnloadRequest* request,
                      v1::UnloadResponse* response) override;
  grpc::Status Describe(grpc::ServerContext*, const v1::DescribeRequest* request,
                        v1::DescribeResponse* response) override;
  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*,
                      v1::StatusResponse* response) override;
  grpc::Status SetLinkState(grpc::ServerContext*, const v1::SetLinkStateRequest* request,
                            v1::SetLinkStateResponse*) override;
  grpc::Status SetLinks(grpc::ServerContext*, const v1::SetLinksRequest* request,
                        v1::SetLinksResponse* response) override;
  grpc::Status GetLinks(grpc::ServerContext*, const v1::GetLinksRequest* request,
                        v1::GetLinksResponse* response) override;
  using v1::Fabric::WithCallbackMethod_Arbitrate<v1::Fabric::Service>::Arbitrate;
  grpc::ServerBidiReactor<v1::ArbitrateRequest, v1::ArbitrateResponse>* Arbitrate(
      grpc::CallbackServerContext*) override;

 private:
  v1::FabricStatus FullStatus();

  Controller& controller_;
  CounterPoll& poll_;
};

}  // namespace bfly::control
