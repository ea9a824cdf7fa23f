// SPDX-License-Identifier: Apache-2.0
// Circuits.Stream.
#include "control/services/circuit_messages.h"
#include "control/services/circuits_service.h"
#include "control/services/operation_stream.h"

namespace bfly::control {
namespace {

struct CircuitOperations {
  using Operation = v1::CircuitOperation;
  using Result = v1::CircuitResult;
  static constexpr char kOperations[] = "set_up or release";

  static TaggedOrder ToTaggedOrder(const Operation& operation) {
    switch (operation.operation_case()) {
      case Operation::kSetUp:
        return {operation.tag(), ToOrder(operation.set_up()), operation.set_up().election_id()};
      case Operation::kRelease:
        return {operation.tag(), ToOrder(operation.release()), operation.release().election_id()};
      case Operation::kMove:
        return {operation.tag(), ToOrder(operation.move()), operation.move().election_id()};
      default:
        return MissingOrder<CircuitOperations>(operation.tag());
    }
  }
  static void Fill(const Network& network, const StandingCircuit& circuit, Result* result) {
    FillCircuit(network, circuit, result->mutable_circuit());
  }
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* CircuitsService::Stream(
    grpc::CallbackServerContext* context) {
  return new StreamReactor<CircuitOperations>(queue_, controller_.resources(), context);
}

}  // namespace bfly::control
