// SPDX-License-Identifier: Apache-2.0
// One order of a unary call, on its way through the queue.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>

#include "control/services/order_queue.h"

namespace bfly::control {

struct UnaryCall {
  grpc::CallbackServerContext* context;
  grpc::ServerUnaryReactor* reactor;  // of the context; DefaultReactor() must not be asked again
  // Called with what was set up or released before the call is finished.
  std::function<void(const Network&, const StandingCircuit&)> fill;
};

// Finishes the call when the order is carried out, or with its error. RESOURCE_EXHAUSTED: too many
// wait.
void CarryOut(OrderQueue& queue, absl::StatusOr<Order> order, uint64_t election_id, UnaryCall call);

// One call in band, which `carry_out` does while its interrupt says nothing. Finishes the call with
// what that returns. RESOURCE_EXHAUSTED: too many wait.
void CarryOutInBand(OrderQueue& queue, grpc::CallbackServerContext* context,
                    grpc::ServerUnaryReactor* reactor,
                    std::function<grpc::Status(const Interrupt&)> carry_out);

}  // namespace bfly::control
