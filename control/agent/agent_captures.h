// SPDX-License-Identifier: Apache-2.0
// bfly.v1.AgentCaptures over a FabricHost: copies of frames, sent as they come.
#pragma once

#include "bfly/v1/capture.grpc.pb.h"
#include "control/agent/fabric_host.h"

namespace bfly::control {

class AgentCapturesService final : public v1::AgentCaptures::Service {
 public:
  explicit AgentCapturesService(FabricHost& host) : host_(host) {}

  // A call takes a thread of gRPC while it runs. The data plane limits how many run.
  grpc::Status Capture(grpc::ServerContext* context, const v1::AgentCaptureRequest* request,
                       grpc::ServerWriter<v1::CaptureBatch>* writer) override;

 private:
  FabricHost& host_;
};

}  // namespace bfly::control
