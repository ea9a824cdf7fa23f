// SPDX-License-Identifier: Apache-2.0
#include "control/controller/agent_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "bfly/v1/agent.grpc.pb.h"
#include "control/agent/ownership.h"
#include "control/controller/agent_channel.h"
#include "control/controller/update_client.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// How long calls may take: the devices of a fabric may need their time to come up; everything else
// happens in memory. A change waits until the controller has usually found out whether a data plane
// that does not answer is gone (UpdateClient::kPatience).
constexpr milliseconds kLoadPatience{60'000};
constexpr milliseconds kChangePatience = UpdateClient::kPatience;
constexpr milliseconds kCallPatience{5'000};
constexpr milliseconds kLightPatience{2'000};
// An update gets more time for each circuit: a million circuits in one message take long on a busy
// machine.
constexpr std::chrono::microseconds kCircuitTime{20};
// How long a step program may run, and how often a run looks whether its caller still waits.
constexpr milliseconds kRoutePatience{60'000};
constexpr milliseconds kRouteLook{20};

}  // namespace

struct AgentClient::Connection {
  Connection(const std::string& address, const AgentCaller& caller)
      : owner(caller.owner), updates(address) {
    const auto channel = ChannelToAgent(address, caller.tls);
    credentials = channel.status();
    if (channel.ok()) stub = v1::Agent::NewStub(*channel);
  }

  const v1::AgentOwner owner;
  absl::Status credentials;  // OK if there is a stub
  std::unique_ptr<v1::Agent::Stub> stub;
  UpdateClient updates;

  // DEADLINE_EXCEEDED: the deadline is over already. INVALID_ARGUMENT: there are no files for TCP.
  absl::Status Prepare(microseconds patience, Deadline deadline, grpc::ClientContext& context) {
    if (!credentials.ok()) return credentials;
    const absl::StatusOr<Deadline::duration> left = TimeLeft(deadline);
    if (!left.ok()) return left.status();
    context.AddMetadata(kOwnerMetadata, owner.id());
    context.set_deadline(std::chrono::system_clock::now() +
                         std::min<Deadline::duration>(patience, *left));
    return absl::OkStatus();
  }

  template <class Request, class Response>
  absl::Status Call(grpc::Status (v1::Agent::Stub::*method)(grpc::ClientContext*, const Request&,
                                                            Response*),
                    const Request& request, Response* response, microseconds patience,
                    Deadline deadline) {
    grpc::ClientContext context;
    if (absl::Status status = Prepare(patience, deadline, context); !status.ok()) return status;
    return FromGrpc((stub.get()->*method)(&context, request, response));
  }

  template <class Response, class Request>
  absl::StatusOr<Response> Ask(grpc::Status (v1::Agent::Stub::*method)(grpc::ClientContext*,
                                                                       const Request&, Response*),
                               const Request& request, microseconds patience,
                               Deadline deadline = kNoDeadline) {
    Response response;
    if (absl::Status status = Call(method, request, &response, patience, deadline); !status.ok()) {
      return status;
    }
    return response;
  }
};

AgentClient::AgentClient(const std::string& address, const AgentCaller& caller)
    : connection_(new Connection(address, caller)) {}

AgentClient::~AgentClient() = default;

absl::Status AgentClient::Verify(const v1::AgentFabricRequest& request, Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::VerifyFabric, request, kLoadPatience, deadline)
      .status();
}

absl::StatusOr<v1::AgentLoadResponse> AgentClient::Load(const v1::AgentFabricRequest& request,
                                                        Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::LoadFabric, request, kLoadPatience, deadline);
}

absl::StatusOr<v1::AgentCounters> AgentClient::Unload(Deadline deadline) {
  auto response = connection_->Ask(&v1::Agent::Stub::UnloadFabric, v1::AgentUnloadRequest(),
                                   kLoadPatience, deadline);
  if (!response.ok()) return response.status();
  return std::move(*response->mutable_last());
}

v1::AgentStateRequest AgentClient::StateRequest(bool full) const {
  v1::AgentStateRequest request;
  request.set_topology(full);
  request.set_circuits(full);
  *request.mutable_caller() = connection_->owner;
  return request;
}

absl::StatusOr<v1::AgentState> AgentClient::Look(milliseconds patience) {
  return connection_->Ask(&v1::Agent::Stub::GetState, StateRequest(/*full=*/false), patience);
}

absl::StatusOr<v1::AgentState> AgentClient::GetState(bool full, Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::GetState, StateRequest(full),
                          full ? kCallPatience : kLightPatience, deadline);
}

absl::StatusOr<v1::AgentState> AgentClient::Claim(bool full, Deadline deadline) {
  v1::AgentStateRequest request = StateRequest(full);
  request.set_claim(true);
  return connection_->Ask(&v1::Agent::Stub::GetState, request,
                          full ? kCallPatience : kLightPatience, deadline);
}

absl::Status AgentClient::Release(Deadline deadline) {
  v1::AgentStateRequest request = StateRequest(/*full=*/false);
  request.set_release(true);
  return connection_->Ask(&v1::Agent::Stub::GetState, request, kLightPatience, deadline).status();
}

absl::StatusOr<v1::AgentUpdateResponse> AgentClient::Update(v1::AgentUpdateRequest request,
                                                            Deadline deadline) {
  request.set_owner(connection_->owner.id());
  if (auto response = connection_->updates.Update(request, deadline)) return *std::move(response);
  const auto circuits = request.install_size() + request.remove_size();
  return connection_->Ask(&v1::Agent::Stub::UpdateCircuits, request,
                          kChangePatience + circuits * kCircuitTime, deadline);
}

absl::StatusOr<v1::AgentInBandResponse> AgentClient::ExchangeInBand(
    const v1::AgentInBandRequest& request, Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::ExchangeInBand, request, kLoadPatience, deadline);
}

absl::StatusOr<v1::RouteReport> AgentClient::Route(const v1::RouteRequest& request,
                                                   const std::function<absl::Status()>& interrupt,
                                                   Deadline deadline) {
  grpc::ClientContext context;
  absl::Status status = connection_->Prepare(kRoutePatience, deadline, context);
  if (!status.ok()) return status;
  v1::RouteReport report;
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<grpc::Status> answer;  // mutex
  connection_->stub->async()->Route(&context, &request, &report, [&](grpc::Status got) {
    const std::lock_guard lock(mutex);
    answer = std::move(got);
    ended.notify_all();
  });
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, kRouteLook, [&] { return answer.has_value(); })) {
    if (status = interrupt(); !status.ok()) {
      context.TryCancel();
      ended.wait(lock, [&] { return answer.has_value(); });
      return status;
    }
  }
  status = FromGrpc(*answer);
  if (!status.ok()) return status;
  return report;
}

absl::StatusOr<v1::AgentCounters> AgentClient::GetCounters(bool links, Deadline deadline) {
  v1::AgentCountersRequest request;
  request.set_links(links);
  return connection_->Ask(&v1::Agent::Stub::GetCounters, request, kCallPatience, deadline);
}

absl::StatusOr<v1::AgentLinkReading> AgentClient::ReadLinks(
    const v1::AgentReadLinksRequest& request, Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::ReadLinks, request, kCallPatience, deadline);
}

absl::Status AgentClient::SetTraffic(const v1::AgentTrafficRequest& request, Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::SetTraffic, request, kChangePatience, deadline)
      .status();
}

absl::StatusOr<v1::AgentTrafficState> AgentClient::GetTraffic(bool histogram, Deadline deadline) {
  v1::AgentTrafficStateRequest request;
  request.set_histogram(histogram);
  return connection_->Ask(&v1::Agent::Stub::GetTraffic, request, kCallPatience, deadline);
}

absl::Status AgentClient::SetFault(const Fault& fault, bool down, Deadline deadline) {
  if (const auto* const link = std::get_if<LinkId>(&fault)) {
    v1::SetLinkStateRequest request;
    request.set_stage(static_cast<uint32_t>(link->stage));
    request.set_row(link->row);
    request.set_port(static_cast<uint32_t>(link->port));
    request.set_up(!down);
    return connection_->Ask(&v1::Agent::Stub::SetLinkState, request, kChangePatience, deadline)
        .status();
  }
  const NodeId& node = std::get<NodeId>(fault);
  v1::SetNodeStateRequest request;
  request.set_level(static_cast<uint32_t>(node.level));
  request.set_row(node.row);
  request.set_up(!down);
  return connection_->Ask(&v1::Agent::Stub::SetNodeState, request, kChangePatience, deadline)
      .status();
}

absl::Status AgentClient::SetPorts(const v1::AgentPortsRequest& request, Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::SetPorts, request, kLoadPatience, deadline).status();
}

absl::Status AgentClient::SetLinks(const v1::AgentLinksRequest& request, Deadline deadline) {
  return connection_->Ask(&v1::Agent::Stub::SetLinks, request, kChangePatience, deadline).status();
}

bool IsUnreachable(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kDeadlineExceeded ||
         status.code() == absl::StatusCode::kCancelled;
}

bool IsLate(const absl::Status& status) {
  return absl::IsDeadlineExceeded(status) || absl::IsResourceExhausted(status);
}

}  // namespace bfly::control
