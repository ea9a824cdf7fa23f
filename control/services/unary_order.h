// SPDX-License-Identifier: Apache-2.0
// One order of a unary call, on its way through the queue.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>

#include "control/controller/commit_queue.h"
#include "control/controller/in_band_session.h"
#include "control/server/message_bytes.h"

namespace bfly::control {

struct UnaryCall {
  grpc::CallbackServerContext* context;
  grpc::ServerUnaryReactor* reactor;  // of the context; DefaultReactor() must not be asked again
  // Called with what was set up or released before the call is finished.
  std::function<void(const Network&, const StandingCircuit&)> fill;
};

// Queues the order, and finishes the call when the order is carried out, or with its error.
// RESOURCE_EXHAUSTED: too many orders wait.
void SubmitOrder(CommitQueue& queue, absl::StatusOr<Order> order, uint64_t election_id,
                 UnaryCall call);

// Queues one call in band. `run` carries it out while the caller waits, and what `run` returns
// finishes the call. RESOURCE_EXHAUSTED: too many calls wait.
void SubmitInBand(CommitQueue& queue, grpc::CallbackServerContext* context,
                  grpc::ServerUnaryReactor* reactor,
                  std::function<grpc::Status(const InBandSession::Patience&)> run);

// A unary call of one order, as a service over bytes gets it.
template <class Request>
struct OrderCall {
  grpc::CallbackServerContext* context;
  grpc::ServerUnaryReactor* reactor;
  std::shared_ptr<const Request> request;  // its memory is given back with the last copy
  grpc::ByteBuffer* answer;
};

// Carries the order out and answers with what `fill(network, circuit, response)` writes.
template <class Response, class Request, class Fill>
void AnswerOrder(CommitQueue& queue, const OrderCall<Request>& call, absl::StatusOr<Order> order,
                 Fill fill) {
  SubmitOrder(queue, std::move(order), call.request->election_id(),
              {call.context, call.reactor,
               [call, fill](const Network& network, const StandingCircuit& circuit) {
                 Response response;
                 fill(network, circuit, response);
                 *call.answer = Serialize(response);
               }});
}

// Carries the order out in band and answers with what `run(patience, response)` writes.
template <class Response, class Request, class InBand>
void AnswerInBand(CommitQueue& queue, const OrderCall<Request>& call, InBand run) {
  SubmitInBand(queue, call.context, call.reactor,
               [call, run](const InBandSession::Patience& patience) {
                 Response response;
                 grpc::Status status = run(patience, &response);
                 if (status.ok()) *call.answer = Serialize(response);
                 return status;
               });
}

}  // namespace bfly::control
