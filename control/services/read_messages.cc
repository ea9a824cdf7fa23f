// SPDX-License-Identifier: Apache-2.0
#include "control/services/read_messages.h"

namespace bfly::control {

ReadBatchOrder ToReadOrder(const v1::ObjectBatchRequest& request) {
  return {.users = {request.users().begin(), request.users().end()},
          .objects = {request.objects().begin(), request.objects().end()},
          .protocol = request.protocol().empty() ? "collision" : request.protocol(),
          .options = {
              .c = request.c(), .c_disk = request.c_disk(), .max_rounds = request.max_rounds()}};
}

void FillObjectPath(const Network& network, const StandingCircuit& circuit, v1::ObjectPath* out) {
  out->set_input(circuit.path.input);
  out->set_output(circuit.path.output);
  const std::vector<Row> rows = WalkTag(network, circuit.path.input, circuit.path.tag);
  out->mutable_rows()->Add(rows.begin(), rows.end());
  out->set_choice(std::string(ChoiceName(circuit.path.choice)));
  out->set_object(circuit.object.value_or(kUnknownObject));
  out->set_circuit(circuit.id);
}

}  // namespace bfly::control
