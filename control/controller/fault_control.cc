// SPDX-License-Identifier: Apache-2.0
#include "control/controller/fault_control.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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
  ApplyFailurePolicy(Apply(*fault, down, ""), deadline);
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
  TellCircuits(Apply(fault, /*down=*/true, plane.name()));
  // Other data planes that run links of the node may not know.
  for (const auto& other : RunnersOf(fault, intent_.now())) {
    if (other.get() == &plane) continue;
    MarkOutOfStep(*other, absl::UnknownError(absl::StrCat(
                              "is compared because links are down at data plane ", plane.name())));
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
  if (status.ok()) return;
  events_.Note(v1::Event::WARNING, "circuits to be moved: " + std::string(status.message()));
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
  if (!status.ok()) {
    events_.Note(v1::Event::WARNING, "broken circuits: " + std::string(status.message()));
  }
  TellCircuits(crossing);
}

std::vector<Row> FaultControl::Apply(const Fault& fault, bool down, const std::string& data_plane) {
  const bool was_down = intent_.now().state.faults().is_down(fault);
  std::vector<Row> crossing;
  intent_.Change([&](Intent& intent) { crossing = intent.state.SetFault(fault, down); });
  if (was_down == down) return crossing;
  v1::Event event;
  event.set_severity(down ? v1::Event::WARNING : v1::Event::INFO);
  v1::LinksEvent& what = *event.mutable_links();
  what.set_change(down ? v1::LinksEvent::FAILED : v1::LinksEvent::RESTORED);
  what.set_count(1);
  what.set_data_plane(data_plane);
  if (const auto* link = std::get_if<LinkId>(&fault)) {
    v1::LinkRef& ref = *what.add_links();
    ref.set_stage(static_cast<uint32_t>(link->stage));
    ref.set_row(link->row);
    ref.set_port(static_cast<uint32_t>(link->port));
  } else {
    const NodeId& node = std::get<NodeId>(fault);
    v1::NodeRef& ref = *what.add_nodes();
    ref.set_level(static_cast<uint32_t>(node.level));
    ref.set_row(node.row);
  }
  events_.Add(std::move(event));
  return crossing;
}

void FaultControl::TellCircuits(const std::vector<Row>& inputs) {
  if (inputs.empty()) return;
  intent_.ChangeAndTell([&](const Intent& intent) { return intent.state.NowAt(inputs); });
}

}  // namespace bfly::control
