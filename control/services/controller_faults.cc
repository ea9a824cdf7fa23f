// SPDX-License-Identifier: Apache-2.0
// Controller: links and nodes that go down and come back, and what becomes of the circuits over
// them.
#include <functional>
#include <utility>

#include "control/intent/execute.h"
#include "control/services/controller.h"
#include "control/services/faults.h"

namespace bfly::control {

namespace {

void MoveCircuit(FabricState& state, Row input, const std::vector<LinkId>& avoid) {
  MoveOrder order;
  order.input = input;
  order.avoid = avoid;
  Execute(state, Order{std::move(order), ""}).status().IgnoreError();
}

void ReleaseBroken(FabricState& state, Row input) {
  Execute(state, Order{ReleaseOrder{state.AtInput(input)->id}, ""}).status().IgnoreError();
}

}  // namespace

absl::Status Controller::SetFault(uint64_t election_id, const FindFault& find, bool down,
                                  Deadline deadline) {
  const auto change = BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  const absl::StatusOr<Fault> fault = find(intent_->state.network());
  if (!fault.ok()) return fault.status();
  if (absl::Status status = CheckUsable(); !status.ok()) return status;
  // Circuits leave a link before it goes down: make before break.
  if (down && on_failure() == v1::CircuitPolicy::REPAIR) MoveOff(*fault, deadline);
  if (absl::Status status = CheckTime(deadline); !status.ok()) return status;
  if (absl::Status status = TellFault(*fault, down, *intent_, deadline); !status.ok())
    return status;
  std::vector<Row> crossing;
  {
    const std::unique_lock lock(state_);
    crossing = intent_->state.SetFault(*fault, down);
  }
  DealWithBroken(crossing, deadline);
  return absl::OkStatus();
}

void Controller::MoveOff(const Fault& fault, Deadline deadline) {
  const FabricState& now = intent_->state;
  std::vector<LinkId> links;
  for (const uint64_t index : now.faults().LinksOf(fault)) {
    links.push_back(now.network().link_at(index));
  }
  const absl::Status status = ForEach(
      now.standing().Crossing(fault),
      [&links](FabricState& state, Row input) { MoveCircuit(state, input, links); }, deadline);
  if (!status.ok()) options_.log("circuits to be moved: " + std::string(status.message()));
}

void Controller::DealWithBroken(const std::vector<Row>& crossing, Deadline deadline) {
  absl::Status status;
  const std::vector<Row> broken(intent_->state.broken().begin(), intent_->state.broken().end());
  if (!broken.empty() && CheckUsable().ok()) {
    if (on_failure() == v1::CircuitPolicy::REPAIR) {
      status = ForEach(
          broken, [](FabricState& state, Row input) { MoveCircuit(state, input, {}); }, deadline);
    } else if (on_failure() == v1::CircuitPolicy::RELEASE) {
      status = ForEach(broken, ReleaseBroken, deadline);
    }
  }
  // They stay broken, and the next look at the data plane tries again.
  if (!status.ok()) options_.log("broken circuits: " + std::string(status.message()));
  TellCircuits(crossing);
}

absl::Status Controller::ForEach(const std::vector<Row>& inputs,
                                 const std::function<void(FabricState&, Row)>& deal,
                                 Deadline deadline) {
  if (inputs.empty()) return absl::OkStatus();
  absl::Status status = TryCarryOut(
      [&](FabricState& state) {
        for (const Row input : inputs) deal(state, input);
      },
      deadline);
  if (status.ok() || IsUnreachable(status) || absl::IsAborted(status)) return status;
  // The data plane refuses one of them: the others shall not suffer for it.
  for (const Row input : inputs) {
    status = TryCarryOut([&](FabricState& state) { deal(state, input); }, deadline);
    if (IsUnreachable(status) || absl::IsAborted(status)) return status;
  }
  return absl::OkStatus();
}

void Controller::TellCircuits(const std::vector<Row>& inputs) {
  if (inputs.empty()) return;
  const std::unique_lock lock(state_);
  feed_.Tell(intent_->state.NowAt(inputs));
}

}  // namespace bfly::control
