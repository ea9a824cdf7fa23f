// SPDX-License-Identifier: Apache-2.0
// What the page's server asks of the controller. It is a client of the services like any other, so
// roles, limits and the audit log hold for the page too.
#pragma once

#include <grpcpp/channel.h>

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "bfly/v1/circuits.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/route.pb.h"
#include "bfly/v1/telemetry.pb.h"

namespace bfly::control {

// Thread-safe. Every call ends within a few seconds.
class FabricCalls {
 public:
  // Makes a connection, or returns null.
  using Connect = std::function<std::shared_ptr<grpc::Channel>()>;
  explicit FabricCalls(Connect connect) : connect_(std::move(connect)) {}

  absl::StatusOr<v1::DescribeResponse> Describe(bool links);
  absl::StatusOr<v1::Counters> GetCounters(const v1::GetCountersRequest& request);
  absl::StatusOr<v1::GetLinksResponse> GetLinks();
  absl::StatusOr<v1::ListResponse> List(const v1::ListRequest& request);
  absl::StatusOr<v1::RouteRecording> DryRun(const v1::RouteRequest& request);
  absl::Status SetLinkState(const v1::SetLinkStateRequest& request);
  absl::Status SetNodeState(const v1::SetNodeStateRequest& request);

 private:
  template <class Service, class Request, class Response>
  absl::Status Ask(grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&,
                                                         Response*),
                   const Request& request, Response* response);
  std::shared_ptr<grpc::Channel> Channel();
  void Forget(const std::shared_ptr<grpc::Channel>& channel);

  const Connect connect_;
  std::mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_;  // mutex_
};

}  // namespace bfly::control
