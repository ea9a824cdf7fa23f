// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Agent over a FabricHost.
#pragma once

#include <functional>
#include <string>

#include "bfly/v1/agent.grpc.pb.h"
#include "control/agent/fabric_host.h"

namespace bfly::control {

class AgentService final : public v1::Agent::Service {
 public:
  struct About {
    std::string memory;  // "hugepages" or "no hugepages (slower)"
    std::string dpdk_version;
  };
  // `host` must outlive the service. A client's request to shut down calls `shut_down`.
  AgentService(FabricHost& host, About about, std::function<void()> shut_down)
      : host_(host), about_(std::move(about)), shut_down_(std::move(shut_down)) {}

  grpc::Status VerifyFabric(grpc::ServerContext*, const v1::AgentFabricRequest* request,
                            v1::AgentVerifyResponse*) override;
  grpc::Status LoadFabric(grpc::ServerContext*, const v1::AgentFabricRequest* request,
                          v1::AgentLoadResponse* response) override;
  grpc::Status UnloadFabric(grpc::ServerContext*, const v1::AgentUnloadRequest*,
                            v1::AgentUnloadResponse* response) override;
  grpc::Status GetState(grpc::ServerContext*, const v1::AgentStateRequest* request,
                        v1::AgentState* response) override;
  grpc::Status UpdateCircuits(grpc::ServerContext*, const v1::AgentUpdateRequest* request,
                              v1::AgentUpdateResponse* response) override;
  grpc::Status ExchangeInBand(grpc::ServerContext*, const v1::AgentInBandRequest* request,
                              v1::AgentInBandResponse* response) override;
  grpc::Status Route(grpc::ServerContext* context, const v1::RouteRequest* request,
                     v1::RouteReport* response) override;
  grpc::Status GetCounters(grpc::ServerContext*, const v1::AgentCountersRequest* request,
                           v1::AgentCounters* response) override;
  grpc::Status ReadLinks(grpc::ServerContext*, const v1::AgentReadLinksRequest* request,
                         v1::AgentLinkReading* response) override;
  grpc::Status SetTraffic(grpc::ServerContext*, const v1::AgentTrafficRequest* request,
                          v1::AgentTrafficResponse*) override;
  grpc::Status GetTraffic(grpc::ServerContext*, const v1::AgentTrafficStateRequest*,
                          v1::AgentTrafficState* response) override;
  grpc::Status SetLinkState(grpc::ServerContext*, const v1::SetLinkStateRequest* request,
                            v1::SetLinkStateResponse*) override;
  grpc::Status SetNodeState(grpc::ServerContext*, const v1::SetNodeStateRequest* request,
                            v1::SetNodeStateResponse*) override;
  grpc::Status SetLinks(grpc::ServerContext* context, const v1::AgentLinksRequest* request,
                        v1::AgentLinksResponse* response) override;
  grpc::Status SetPorts(grpc::ServerContext* context, const v1::AgentPortsRequest* request,
                        v1::AgentPortsResponse*) override;
  grpc::Status Shutdown(grpc::ServerContext*, const v1::AgentShutdownRequest*,
                        v1::AgentShutdownResponse*) override;

 private:
  // Returns an error if a request names another data plane, and so went to the wrong address.
  absl::Status CheckName(const std::string& data_plane) const;
  // FAILED_PRECONDITION: the data plane belongs to another controller.
  absl::Status CheckOwner(const grpc::ServerContext& context) const;

  FabricHost& host_;
  const About about_;
  const std::function<void()> shut_down_;
};

}  // namespace bfly::control
