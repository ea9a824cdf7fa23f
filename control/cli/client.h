// SPDX-License-Identifier: Apache-2.0
// Talking to bfly-controller: the channel, the deadline of a call, and errors as a person reads
// them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "control/cli/verb.h"

namespace bfly::control {

// How long one answer may take. A batch over a million links is the longest there is.
inline constexpr std::chrono::seconds kCallDeadline{60};

std::shared_ptr<grpc::Channel> Connect(const Common& common);

// A gRPC error with the details of its fields, one a line. OK gives OK.
absl::Status Explain(const grpc::Status& answer, const Common& common);
// Adds to an error of the controller what to do if another client is primary. Explain calls it.
absl::Status WithAdvice(const absl::Status& status);

// How long a call that the controller turned away is tried again.
inline constexpr std::chrono::seconds kTurnedAwayPatience{5};
inline constexpr std::chrono::milliseconds kTryAgainEvery{100};

// Whether the controller accepted the connection and closed it at once, before it read a request,
// as gRPC does while clients hold all of its memory.
bool WasTurnedAway(const grpc::Status& answer);

// Calls a unary method: Call(stub.get(), &v1::Fabric::Stub::Status, request, &response, common).
// Requests that take an election id carry the one that was given. A call that was turned away is
// tried again.
template <class Stub, class Request, class Response>
absl::Status Call(Stub* stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response, const Common& common) {
  Request sent = request;
  if constexpr (requires { sent.set_election_id(uint64_t{}); }) {
    if (common.election_id != 0) sent.set_election_id(common.election_id);
  }
  const auto give_up = std::chrono::steady_clock::now() + kTurnedAwayPatience;
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    const grpc::Status answer = (stub->*method)(&context, sent, response);
    if (!WasTurnedAway(answer) || std::chrono::steady_clock::now() > give_up)
      return Explain(answer, common);
    std::this_thread::sleep_for(kTryAgainEvery);
  }
}

}  // namespace bfly::control
