// SPDX-License-Identifier: Apache-2.0
#include "control/controller/schedule_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bfly/v1/schedules.grpc.pb.h"
#include "control/agent/ownership.h"
#include "control/controller/agent_channel.h"
#include "control/status/grpc_status.h"

namespace bfly::control {
namespace {

// The data plane waits two seconds for a worker at most, and reads tables of millions of circuits.
constexpr std::chrono::seconds kSchedulePatience{10};

}  // namespace

struct ScheduleClient::Connection {
  Connection(const std::string& address, const AgentCaller& caller) : owner(caller.owner.id()) {
    const auto channel = ChannelToAgent(address, caller.tls);
    credentials = channel.status();
    if (channel.ok()) stub = v1::AgentSchedules::NewStub(*channel);
  }

  const std::string owner;
  absl::Status credentials;  // OK if there is a stub
  std::unique_ptr<v1::AgentSchedules::Stub> stub;

  template <class Request, class Response>
  absl::Status Call(grpc::Status (v1::AgentSchedules::Stub::*method)(grpc::ClientContext*,
                                                                     const Request&, Response*),
                    const Request& request, Response* response, Deadline deadline) const {
    if (!credentials.ok()) return credentials;
    const absl::StatusOr<Deadline::duration> left = TimeLeft(deadline);
    if (!left.ok()) return left.status();
    grpc::ClientContext context;
    context.AddMetadata(kOwnerMetadata, owner);
    context.set_deadline(std::chrono::system_clock::now() +
                         std::min<Deadline::duration>(kSchedulePatience, *left));
    return FromGrpc((stub.get()->*method)(&context, request, response));
  }
};

ScheduleClient::ScheduleClient(const DataPlane& plane, const AgentCaller& caller)
    : name_(plane.name()),
      address_(plane.address()),
      connection_(std::make_unique<Connection>(address_, caller)) {}

ScheduleClient::~ScheduleClient() = default;

absl::Status ScheduleClient::AtPlane(const absl::Status& status) const {
  if (status.ok()) return status;
  // gRPC's own words for the end of the time say neither whose time nor for what.
  const absl::string_view what =
      status.message() == "Deadline Exceeded" ? "did not answer in time" : status.message();
  absl::Status named(status.code(),
                     absl::StrCat("data plane ", name_, " at ", address_, ": ",
                                  absl::IsUnavailable(status) ? "cannot be reached: " : "", what));
  status.ForEachPayload(
      [&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

absl::Status ScheduleClient::Set(const v1::AgentScheduleRequest& request, Deadline deadline) {
  v1::AgentScheduleResponse response;
  return AtPlane(connection_->Call(&v1::AgentSchedules::Stub::Set, request, &response, deadline));
}

absl::StatusOr<v1::AgentScheduleStopResponse> ScheduleClient::Stop(Deadline deadline) {
  v1::AgentScheduleStopResponse response;
  const absl::Status status = connection_->Call(
      &v1::AgentSchedules::Stub::Stop, v1::AgentScheduleStopRequest(), &response, deadline);
  if (!status.ok()) return AtPlane(status);
  return response;
}

absl::StatusOr<v1::AgentScheduleState> ScheduleClient::Get(bool slots, bool counters,
                                                           Deadline deadline) {
  v1::AgentScheduleStateRequest request;
  request.set_slots(slots);
  request.set_counters(counters);
  v1::AgentScheduleState state;
  const absl::Status status =
      connection_->Call(&v1::AgentSchedules::Stub::Get, request, &state, deadline);
  if (!status.ok()) return AtPlane(status);
  return state;
}

}  // namespace bfly::control
