// SPDX-License-Identifier: Apache-2.0
// The controller's side of bfly.v1.Agent, one data plane each. No gRPC types here.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "control/controller/agent_caller.h"
#include "control/controller/deadline.h"
#include "topologies/fault_set.h"

namespace bfly::control {

// Thread-safe. Every call ends: UNAVAILABLE if nobody answers at the address, DEADLINE_EXCEEDED if
// the answer does not come within the time that such a call may take, or before `deadline`. After
// either error the data plane may or may not have done what was asked.
class AgentClient {
 public:
  // Connects with the first call, and again by itself when the other side was gone. Every
  // call carries the owner: data planes of another owner refuse to be changed. If the caller has no
  // files for a TCP address, every call has the error that says so.
  AgentClient(const std::string& address, const AgentCaller& caller);
  ~AgentClient();

  absl::Status Verify(const v1::AgentFabricRequest& request, Deadline deadline);
  absl::StatusOr<v1::AgentLoadResponse> Load(const v1::AgentFabricRequest& request,
                                             Deadline deadline = kNoDeadline);
  absl::StatusOr<v1::AgentCounters> Unload(Deadline deadline = kNoDeadline);
  // Gets what is cheap of the state, within `patience`. RESOURCE_EXHAUSTED and DEADLINE_EXCEEDED:
  // somebody is there who is busy or hangs; UNAVAILABLE: nobody is there.
  absl::StatusOr<v1::AgentState> Look(std::chrono::milliseconds patience);
  // With `full` the state has the topology and the circuits; otherwise it has only what is cheap.
  absl::StatusOr<v1::AgentState> GetState(bool full, Deadline deadline = kNoDeadline);
  // Gets the state too, and makes the caller the owner unless somebody else is
  // (AgentState.caller_owns).
  absl::StatusOr<v1::AgentState> Claim(bool full, Deadline deadline = kNoDeadline);
  // Gives the data plane up.
  absl::Status Release(Deadline deadline = kNoDeadline);
  // Uses the data plane's update socket where there is one.
  absl::StatusOr<v1::AgentUpdateResponse> Update(v1::AgentUpdateRequest request,
                                                 Deadline deadline = kNoDeadline);
  absl::StatusOr<v1::AgentInBandResponse> ExchangeInBand(const v1::AgentInBandRequest& request,
                                                         Deadline deadline = kNoDeadline);
  // Asks `interrupt` several times a second; if it returns an error, ends the run and returns that
  // error.
  absl::StatusOr<v1::RouteReport> Route(const v1::RouteRequest& request,
                                        const std::function<absl::Status()>& interrupt,
                                        Deadline deadline);
  absl::StatusOr<v1::AgentCounters> GetCounters(bool links, Deadline deadline);
  absl::StatusOr<v1::AgentLinkReading> ReadLinks(const v1::AgentReadLinksRequest& request,
                                                 Deadline deadline);
  absl::Status SetTraffic(const v1::AgentTrafficRequest& request, Deadline deadline = kNoDeadline);
  absl::StatusOr<v1::AgentTrafficState> GetTraffic(bool histogram, Deadline deadline);
  absl::Status SetFault(const Fault& fault, bool down, Deadline deadline = kNoDeadline);
  absl::Status SetPorts(const v1::AgentPortsRequest& request, Deadline deadline = kNoDeadline);
  absl::Status SetLinks(const v1::AgentLinksRequest& request, Deadline deadline = kNoDeadline);

 private:
  v1::AgentStateRequest StateRequest(bool full) const;

  struct Connection;
  std::unique_ptr<Connection> connection_;
};

// Whether a call failed because no data plane answered, and not because of what was asked.
bool IsUnreachable(const absl::Status& status);
// Whether it failed because the answer did not come in time, or because too many calls wait there.
// Somebody is there, as far as can be known.
bool IsLate(const absl::Status& status);

}  // namespace bfly::control
