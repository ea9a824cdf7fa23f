// SPDX-License-Identifier: Apache-2.0
#include "control/intent/fabric_state.h"

#include <utility>
#include <variant>

#include "control/status/field_errors.h"

namespace bfly::control {

FabricState::FabricState(std::shared_ptr<const Network> network, uint64_t last_id,
                         LinkCapacity capacity)
    : network_(std::move(network)),
      links_(*network_, std::move(capacity)),
      circuits_(*network_, links_.faults(), last_id),
      objects_(*network_, circuits_),
      planner_(*network_, links_, circuits_, objects_) {}

void FabricState::Apply(const IntentEdit& edit) {
  if (const auto* of_circuit = std::get_if<CircuitEdit>(&edit)) {
    if (of_circuit->stands) {
      circuits_.PutUp(of_circuit->circuit);
      objects_.NotePutUp(of_circuit->circuit);
    } else {
      circuits_.TakeDown(of_circuit->circuit.path.input);
      objects_.NoteTakenDown(of_circuit->circuit);
    }
  } else if (const auto* placement = std::get_if<PlaceEdit>(&edit)) {
    objects_.Redo(*placement);
  }
}

void FabricState::Undo(const IntentEdit& edit) {
  if (const auto* of_circuit = std::get_if<CircuitEdit>(&edit)) {
    Apply(CircuitEdit{of_circuit->circuit, !of_circuit->stands});
  } else if (const auto* placement = std::get_if<PlaceEdit>(&edit)) {
    objects_.Undo(*placement);
  }
}

absl::StatusOr<StandingCircuit> FabricState::Put(const CircuitPath& path,
                                                 std::optional<uint64_t> object,
                                                 const FaultSet& faults) {
  const absl::Status busy = object.has_value() ? objects_.CheckDisk(path.output)
                                               : circuits_.CheckFree(path.input, path.output);
  if (!busy.ok()) return busy;
  ++now_.asked;
  if (absl::Status status = links_.CheckPath(path, load(), faults); !status.ok()) {
    now_.blocked += absl::IsResourceExhausted(status);
    return status;
  }
  return Stand(path, object, 0);
}

absl::StatusOr<StandingCircuit> FabricState::Stand(const CircuitPath& path,
                                                   std::optional<uint64_t> object, uint64_t id) {
  absl::StatusOr<StandingCircuit> circuit = circuits_.SetUp(path, object, id);
  if (!circuit.ok()) return circuit;
  objects_.NotePutUp(*circuit);
  change_.Add(CircuitEdit{*circuit, /*stands=*/true});
  return circuit;
}

StandingCircuit FabricState::Release(Row input) {
  StandingCircuit circuit = *AtInput(input);
  const CircuitEdit edit{circuit, /*stands=*/false};
  Apply(edit);
  change_.Add(edit);
  return circuit;
}

absl::Status FabricState::Place(PlaceOrder order) {
  absl::StatusOr<PlaceEdit> edit = objects_.Place(std::move(order));
  if (edit.ok()) change_.Add(*std::move(edit));
  return edit.status();
}

void FabricState::Remember(const std::string& key, std::string request,
                           AnsweredKeys::Answer answer) {
  keys_.Put(key, std::move(request), std::move(answer));
  change_.Add(KeyEdit());
}

void FabricState::Count(const Blocking& requests) {
  now_.asked += requests.asked;
  now_.blocked += requests.blocked;
}

void FabricState::CountRefusal(const absl::Status& refused) {
  const bool full = absl::IsResourceExhausted(refused);
  if (full || absl::IsUnavailable(refused)) Count({.asked = 1, .blocked = full ? 1u : 0u});
}

CircuitChange FabricState::NowAt(const std::vector<Row>& inputs) const {
  CircuitChange now;
  for (const Row input : inputs) {
    if (auto circuit = AtInput(input)) {
      now.install.push_back(*std::move(circuit));
    } else {
      now.remove.push_back(input);
    }
  }
  return now;
}

void FabricState::RollBackTo(size_t size) {
  while (change_.size() > size) {
    const IntentEdit edit = change_.TakeLast();
    Undo(edit);
    if (std::holds_alternative<KeyEdit>(edit)) keys_.RemoveNewest();
  }
}

void FabricState::Withdraw() {
  if (std::exchange(withdrawn_, true)) return;
  const std::vector<IntentEdit>& edits = change_.edits();
  for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) Undo(*edit);
}

void FabricState::RollBack() {
  Withdraw();
  withdrawn_ = false;
  change_.Clear();
  keys_.RollBack();
  now_ = {};
}

void FabricState::Commit() {
  if (std::exchange(withdrawn_, false)) {
    for (const IntentEdit& edit : change_.edits()) Apply(edit);
  }
  change_.Clear();
  keys_.Commit();
  blocking_.asked += now_.asked;
  blocking_.blocked += now_.blocked;
  now_ = {};
}

absl::Status FabricState::Adopt(Row input, Tag tag, uint64_t id, std::optional<uint64_t> object) {
  if (input >= network_->rows()) return OutOfRange("input", input, 0, network_->rows() - 1);
  CircuitPath path{input, OutputOfTag(*network_, tag), tag, PathChoice::kGiven};
  const ObjectDirectory::Disks* at = object.has_value() ? objects().Find(*object) : nullptr;
  path.choice = planner_.ChoiceOf(path, at);
  // A read goes on whatever became of its object.
  if (object.has_value() && (at == nullptr || objects_.IsRead(*object))) object = kUnknownObject;
  // A circuit stands whether its links are up or not.
  absl::Status status = links_.CheckRoom(path, load());
  if (status.ok() && !object.has_value()) status = circuits_.CheckFree(input, path.output);
  const bool keeps_id = id != 0 && id % network_->rows() == input;
  if (status.ok()) status = Stand(path, object, keeps_id ? id : 0).status();
  if (!status.ok()) return status;
  if (keeps_id) circuits_.SkipIds(id);
  change_.Clear();
  return absl::OkStatus();
}

std::vector<Row> FabricState::SetFault(const Fault& fault, bool down) {
  links_.SetFault(fault, down);
  std::vector<Row> crossing = circuits_.Crossing(fault);
  for (const Row input : crossing) circuits_.NoteBroken(input);
  return crossing;
}

}  // namespace bfly::control
