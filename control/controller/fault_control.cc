// SPDX-License-Identifier: Apache-2.0
#include "control/controller/fault_control.h"

#include <algorithm>
#include <utility>

#include "control/controller/faults.h"
#include "control/intent/execute.h"

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

absl::Status FaultControl::Set(uint64_t election_id, const FindFault& find, bool down,
                               Deadline deadline) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = intent_.CheckLoaded(); !status.ok()) return status;
  const absl::StatusOr<Fault> fault = find(intent_.now().state.network());
  if (!fault.ok()) return fault.status();
  if (absl::Status status = intent_.CheckUsable(); !status.ok()) return status;
  // Circuits leave a link before it goes down: make before break.
  if (down && on_failure() == v1::CircuitPolicy::REPAIR) MoveOff(*fault, deadline);
  absl::Status status = CheckTime(deadline);
  if (status.ok()) status = TellFault(*fault, down, intent_.now(), deadline);
  if (!status.ok()) return status;
  std::vector<Row> crossing;
  intent_.Change([&](Intent& intent) { crossing = intent.state.SetFault(*fault, down); });
  ApplyFailurePolicy(crossing, deadline);
  return absl::OkStatus();
}

absl::Status FaultControl::Reconcile(DataPlane& plane, const v1::AgentState& held,
                                     Deadline deadline) {
  const FaultSet there = FaultsOf(held, intent_.now().state.network());
  const FaultSet& wanted = intent_.now().state.faults();
  const std::vector<Fault> taken_back = plane.known().taken_back;
  for (const Fault& fault : there.down()) {
    if (wanted.is_down(fault)) continue;
    if (std::find(taken_back.begin(), taken_back.end(), fault) == taken_back.end()) {
      Adopt(fault, plane);
      continue;
    }
    const absl::Status status = plane.client().SetFault(fault, /*down=*/false, deadline);
    if (!status.ok()) return status;
  }
  for (const Fault& fault : wanted.down()) {
    const DataPlanes runners = RunnersOf(fault, intent_.now());
    const bool runs = std::any_of(runners.begin(), runners.end(),
                                  [&](const auto& runner) { return runner.get() == &plane; });
    if (!runs || there.is_down(fault)) continue;
    const absl::Status status = plane.client().SetFault(fault, /*down=*/true, deadline);
    if (!status.ok()) return status;
  }
  plane.Learn([](DataPlane::Known& known) { known.taken_back.clear(); });
  return absl::OkStatus();
}

void FaultControl::Adopt(const Fault& fault, const DataPlane& plane) {
  std::vector<Row> crossing;
  intent_.Change([&](Intent& intent) { crossing = intent.state.SetFault(fault, /*down=*/true); });
  TellCircuits(crossing);
  // Other data planes that run links of the node may not know.
  for (const auto& other : RunnersOf(fault, intent_.now())) {
    if (other.get() == &plane) continue;
    other->Learn([](DataPlane::Known& known) { known.in_step = false; });
  }
}

void FaultControl::MoveOff(const Fault& fault, Deadline deadline) {
  const FabricState& state = intent_.now().state;
  std::vector<LinkId> links;
  for (const uint64_t index : state.faults().LinksOf(fault)) {
    links.push_back(state.network().link_at(index));
  }
  const absl::Status status = commit_.CommitEach(
      state.standing().Crossing(fault),
      [&links](FabricState& now, Row input) { MoveCircuit(now, input, links); }, deadline);
  if (!status.ok()) log_("circuits to be moved: " + std::string(status.message()));
}

void FaultControl::ApplyFailurePolicy(const std::vector<Row>& crossing, Deadline deadline) {
  absl::Status status;
  const FabricState& state = intent_.now().state;
  const std::vector<Row> broken(state.broken().begin(), state.broken().end());
  if (!broken.empty() && intent_.CheckUsable().ok()) {
    if (on_failure() == v1::CircuitPolicy::REPAIR) {
      status = commit_.CommitEach(
          broken, [](FabricState& now, Row input) { MoveCircuit(now, input, {}); }, deadline);
    } else if (on_failure() == v1::CircuitPolicy::RELEASE) {
      status = commit_.CommitEach(broken, ReleaseBroken, deadline);
    }
  }
  // The circuits stay broken, and the next look at the data plane tries again.
  if (!status.ok()) log_("broken circuits: " + std::string(status.message()));
  TellCircuits(crossing);
}

void FaultControl::TellCircuits(const std::vector<Row>& inputs) {
  if (inputs.empty()) return;
  intent_.ChangeAndTell([&](const Intent& intent) { return intent.state.NowAt(inputs); });
}

}  // namespace bfly::control
