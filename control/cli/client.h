// SPDX-License-Identifier: Apache-2.0
// Talking to bfly-controller: the channel, the deadline of a call, and errors as a person reads
// them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "control/cli/verb.h"

namespace bfly::control {

// How long one answer may take. A batch over a million links is the longest there is.
inline constexpr std::chrono::seconds kCallDeadline{60};

std::shared_ptr<grpc::Channel> Connect(const Common& common);

// A gRPC error with the details of its fields, one a line. OK gives OK.
absl::Status Explain(const grpc::Status& answer, const Common& common);
// An error of the controller with what to do where another client is primary. Explain adds it.
absl::Status WithAdvice(const absl::Status& status);

// Calls a unary method: Call(stub.get(), &v1::Fabric::Stub::Status, request, &response, common).
// Requests that take an election id carry the one that was given.
template <class Stub, class Request, class Response>
absl::Status Call(Stub* stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response, const Common& common) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  if constexpr (requires(Request & changing) { changing.set_election_id(uint64_t{}); }) {
    Request with_id = request;
    if (common.election_id != 0) with_id.set_election_id(common.election_id);
    return Explain((stub->*method)(&context, with_id, response), common);
  }
  return Explain((stub->*method)(&context, request, response), common);
}

}  // namespace bfly::control
