// SPDX-License-Identifier: Apache-2.0
// Controller: links that go down and come back, and what becomes of the circuits over them.
#include <functional>
#include <utility>

#include "control/intent/execute.h"
#include "control/services/controller.h"
#include "control/status/field_errors.h"

namespace bfly::control {

absl::Status Controller::SetLinkState(const v1::SetLinkStateRequest& request) {
  const std::lock_guard change(change_);
  if (absl::Status status = arbitration_.Check(request.election_id()); !status.ok()) return status;
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  const Network& network = intent_->state.network();
  FieldErrors errors;
  if (request.stage() >= static_cast<uint32_t>(network.stages())) {
    errors.Add(OutOfRange("stage", request.stage(), 0, network.stages() - 1));
  }
  if (request.row() >= network.rows()) {
    errors.Add(OutOfRange("row", request.row(), 0, network.rows() - 1));
  }
  if (request.port() >= static_cast<uint32_t>(network.ports())) {
    errors.Add(OutOfRange("port", request.port(), 0, network.ports() - 1));
  }
  if (!errors.empty()) return errors.ToStatus();
  if (absl::Status status = CheckUsable(); !status.ok()) return status;
  const LinkId link{static_cast<int>(request.stage()), request.row(),
                    static_cast<int>(request.port())};
  // Circuits leave a link before it goes down: make before break.
  if (!request.up() && on_failure() == v1::CircuitPolicy::REPAIR) MoveOff(link);
  DataPlane& owner = *intent_->planes[intent_->plane_of_stage[request.stage()]];
  if (absl::Status status = owner.client().SetLinkState(request); !status.ok()) return status;
  std::vector<Row> crossing;
  {
    const std::unique_lock lock(state_);
    crossing = intent_->state.SetLinkUp(link, request.up());
  }
  DealWithBroken(crossing);
  return absl::OkStatus();
}

void Controller::MoveOff(LinkId link) {
  const absl::Status status =
      ForEach(intent_->state.standing().Crossing(link), [link](FabricState& state, Row input) {
        MoveOrder order;
        order.input = input;
        order.avoid = {link};
        Execute(state, Order{std::move(order), ""}).status().IgnoreError();
      });
  if (!status.ok()) options_.log("circuits to be moved: " + std::string(status.message()));
}

void Controller::DealWithBroken(const std::vector<Row>& crossing) {
  absl::Status status;
  const std::vector<Row> broken(intent_->state.broken().begin(), intent_->state.broken().end());
  if (!broken.empty() && CheckUsable().ok()) {
    if (on_failure() == v1::CircuitPolicy::REPAIR) {
      status = ForEach(broken, [](FabricState& state, Row input) {
        MoveOrder order;
        order.input = input;
        Execute(state, Order{std::move(order), ""}).status().IgnoreError();
      });
    } else if (on_failure() == v1::CircuitPolicy::RELEASE) {
      status = ForEach(broken, [](FabricState& state, Row input) {
        Execute(state, Order{ReleaseOrder{state.AtInput(input)->id}, ""}).status().IgnoreError();
      });
    }
  }
  // They stay broken, and the next look at the data plane tries again.
  if (!status.ok()) options_.log("broken circuits: " + std::string(status.message()));
  TellCircuits(crossing);
}

absl::Status Controller::ForEach(const std::vector<Row>& inputs,
                                 const std::function<void(FabricState&, Row)>& deal) {
  if (inputs.empty()) return absl::OkStatus();
  Job all;
  all.plan = [&](FabricState& state) {
    for (const Row input : inputs) deal(state, input);
  };
  absl::Status status = TryCarryOut({&all});
  if (status.ok() || IsUnreachable(status) || absl::IsAborted(status)) return status;
  // The data plane refuses one of them: the others shall not suffer for it.
  for (const Row input : inputs) {
    Job one;
    one.plan = [&](FabricState& state) { deal(state, input); };
    status = TryCarryOut({&one});
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
