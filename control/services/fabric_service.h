// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Fabric over a Controller.
#pragma once

#include "bfly/v1/fabric.pb.h"
#include "control/controller/controller.h"
#include "control/services/byte_service.h"
#include "control/services/counter_poll.h"

namespace bfly::control {

class FabricService final : public ByteService {
 public:
  FabricService(Controller& controller, CounterPoll& poll, CallDesk& desk);

  grpc::Status Verify(const grpc::ServerContextBase*, const v1::VerifyRequest* request,
                      v1::VerifyResponse*);
  grpc::Status Load(const grpc::ServerContextBase*, const v1::LoadRequest* request,
                    v1::LoadResponse* response);
  grpc::Status Unload(const grpc::ServerContextBase*, const v1::UnloadRequest* request,
                      v1::UnloadResponse* response);
  grpc::Status Describe(const grpc::ServerContextBase*, const v1::DescribeRequest* request,
                        v1::DescribeResponse* response);
  grpc::Status Status(const grpc::ServerContextBase*, const v1::StatusRequest*,
                      v1::StatusResponse* response);
  grpc::Status SetLinkState(const grpc::ServerContextBase*, const v1::SetLinkStateRequest* request,
                            v1::SetLinkStateResponse*);
  grpc::Status SetNodeState(const grpc::ServerContextBase*, const v1::SetNodeStateRequest* request,
                            v1::SetNodeStateResponse*);
  grpc::Status SetLinks(const grpc::ServerContextBase*, const v1::SetLinksRequest* request,
                        v1::SetLinksResponse* response);
  grpc::Status GetLinks(const grpc::ServerContextBase*, const v1::GetLinksRequest* request,
                        v1::GetLinksResponse* response);
  grpc::Status AddPort(const grpc::ServerContextBase*, const v1::AddPortRequest* request,
                       v1::AddPortResponse* response);
  grpc::Status RemovePort(const grpc::ServerContextBase*, const v1::RemovePortRequest* request,
                          v1::RemovePortResponse* response);
  grpc::Status GetPorts(const grpc::ServerContextBase*, const v1::GetPortsRequest*,
                        v1::GetPortsResponse* response);

 private:
  // `status` is without counters if they cannot be read in half of the time until `deadline`.
  void FillStatus(Deadline deadline, v1::FabricStatus* status);

  Controller& controller_;
  CounterPoll& poll_;
};

}  // namespace bfly::control
