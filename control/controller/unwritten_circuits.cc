// SPDX-License-Identifier: Apache-2.0
#include "control/controller/unwritten_circuits.h"

#include <utility>

namespace bfly::control {

UnwrittenCircuits::Batch UnwrittenCircuits::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(pending_, {});
}

void UnwrittenCircuits::PutBack(Batch unwritten) {
  const std::lock_guard lock(mutex_);
  // A new fabric needs nothing of the one before.
  if (pending_.forget) return;
  // Changes that came meanwhile are newer, so they take the place of these.
  unwritten.circuits.merge(pending_.circuits);
  for (auto& [input, circuit] : pending_.circuits) unwritten.circuits[input] = circuit;
  pending_ = std::move(unwritten);
}

void UnwrittenCircuits::OnFabric(std::shared_ptr<const Network>,
                                 const std::vector<StandingCircuit>& standing) {
  {
    const std::lock_guard lock(mutex_);
    pending_ = {.forget = true, .circuits = {}};
  }
  OnChange({.install = standing, .remove = {}});
}

void UnwrittenCircuits::OnChange(const CircuitChange& change) {
  const std::lock_guard lock(mutex_);
  for (const Row input : change.remove) pending_.circuits[input] = {};
  for (const StandingCircuit& circuit : change.install) {
    pending_.circuits[circuit.path.input] = {
        .tag = circuit.path.tag, .id = circuit.id, .object = circuit.object, .stands = true};
  }
}

KeptChange ChangeTo(const v1::AgentState& state, const UnwrittenCircuits::Batch& batch) {
  KeptChange change{.state = state.SerializeAsString(), .forget_circuits = batch.forget};
  change.circuits.reserve(batch.circuits.size());
  for (const auto& [input, circuit] : batch.circuits) {
    v1::AgentCircuit message;
    if (circuit.stands) {
      message.set_input(input);
      message.set_tag(circuit.tag);
      message.set_id(circuit.id);
      if (circuit.object.has_value()) message.set_object(*circuit.object);
    }
    change.circuits.emplace_back(input, circuit.stands ? message.SerializeAsString() : "");
  }
  return change;
}

}  // namespace bfly::control
