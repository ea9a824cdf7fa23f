// SPDX-License-Identifier: Apache-2.0
#include "control/web/fabric_calls.h"

#include <grpcpp/client_context.h>

#include <chrono>

#include "bfly/v1/circuits.grpc.pb.h"
#include "bfly/v1/fabric.grpc.pb.h"
#include "bfly/v1/programs.grpc.pb.h"
#include "bfly/v1/telemetry.grpc.pb.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

constexpr std::chrono::seconds kCallPatience{5};

}  // namespace

std::shared_ptr<grpc::Channel> FabricCalls::Channel() {
  const std::lock_guard lock(mutex_);
  if (channel_ == nullptr) channel_ = connect_();
  return channel_;
}

// A connection over a socket pair does not come back by itself.
void FabricCalls::Forget(const std::shared_ptr<grpc::Channel>& channel) {
  const std::lock_guard lock(mutex_);
  if (channel_ == channel) channel_ = nullptr;
}

template <class Service, class Request, class Response>
absl::Status FabricCalls::Ask(grpc::Status (Service::Stub::*method)(grpc::ClientContext*,
                                                                    const Request&, Response*),
                              const Request& request, Response* response) {
  const std::shared_ptr<grpc::Channel> channel = Channel();
  if (channel == nullptr) return absl::UnavailableError("the controller takes no connection");
  const auto stub = Service::NewStub(channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallPatience);
  const grpc::Status status = (stub.get()->*method)(&context, request, response);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) Forget(channel);
  return FromGrpc(status);
}

absl::StatusOr<v1::DescribeResponse> FabricCalls::Describe(bool links) {
  v1::DescribeRequest request;
  request.set_links(links);
  v1::DescribeResponse response;
  const absl::Status status = Ask<v1::Fabric>(&v1::Fabric::Stub::Describe, request, &response);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::Counters> FabricCalls::GetCounters(const v1::GetCountersRequest& request) {
  v1::Counters response;
  const absl::Status status =
      Ask<v1::Telemetry>(&v1::Telemetry::Stub::GetCounters, request, &response);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::GetLinksResponse> FabricCalls::GetLinks() {
  v1::GetLinksResponse response;
  const absl::Status status =
      Ask<v1::Fabric>(&v1::Fabric::Stub::GetLinks, v1::GetLinksRequest(), &response);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::ListResponse> FabricCalls::List(const v1::ListRequest& request) {
  v1::ListResponse response;
  const absl::Status status = Ask<v1::Circuits>(&v1::Circuits::Stub::List, request, &response);
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::RouteRecording> FabricCalls::DryRun(const v1::RouteRequest& request) {
  v1::RouteRecording response;
  const absl::Status status = Ask<v1::Programs>(&v1::Programs::Stub::DryRun, request, &response);
  if (!status.ok()) return status;
  return response;
}

absl::Status FabricCalls::SetLinkState(const v1::SetLinkStateRequest& request) {
  v1::SetLinkStateResponse response;
  return Ask<v1::Fabric>(&v1::Fabric::Stub::SetLinkState, request, &response);
}

absl::Status FabricCalls::SetNodeState(const v1::SetNodeStateRequest& request) {
  v1::SetNodeStateResponse response;
  return Ask<v1::Fabric>(&v1::Fabric::Stub::SetNodeState, request, &response);
}

}  // namespace bfly::control
