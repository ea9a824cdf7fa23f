// SPDX-License-Identifier: Apache-2.0
#include "control/controller/circuit_commit.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/controller/agent_circuits.h"

namespace bfly::control {

void CircuitCommit::CommitPlans(const std::vector<Plan*>& plans) {
  absl::Status status = intent_.CheckLoaded();
  if (status.ok()) status = intent_.CheckUsable();
  for (Plan* plan : plans) plan->status = status;
  if (status.ok()) CommitTogether(plans);
}

void CircuitCommit::CommitTogether(const std::vector<Plan*>& plans) {
  const auto execute = [&](FabricState& state) {
    for (Plan* plan : plans) plan->Execute(state, arbitration_);
  };
  absl::Status status = Commit(execute);
  // The data plane restarted, or somebody else changed it, since the controller last looked at it.
  bool refused = absl::IsAborted(status) || absl::IsFailedPrecondition(status);
  if (refused) {
    status = reconcile_();
    refused = !status.ok();
    status = status.ok() ? Commit(execute) : AtIngress(absl::UnavailableError(status.message()));
  }
  if (status.ok()) return;
  if (!IsUnreachable(status) && plans.size() > 1) {
    // The data plane refuses one of the plans: the others must not suffer for it.
    for (Plan* plan : plans) CommitTogether({plan});
    return;
  }
  const bool silent = IsUnreachable(status);
  const absl::Status failed(
      silent ? absl::StatusCode::kUnavailable : status.code(),
      absl::StrCat(status.message(), silent && !refused
                                         ? "; it may have been done there, and is undone as soon "
                                           "as the data plane answers"
                                         : "; nothing was changed"));
  for (Plan* plan : plans) plan->status = failed;
}

absl::Status CircuitCommit::Commit(const std::function<void(FabricState&)>& execute,
                                   Deadline deadline) {
  CircuitChange change;
  PlacedRecords placed;
  const auto edit = [&](Intent& intent) {
    execute(intent.state);
    change = intent.state.changed_circuits();
    placed = intent.state.change().placed();
  };
  intent_.Change(edit);
  if (!placed.records.empty() && !intent_.now().store_problem.empty()) {
    // A placement that the store has may be of the same object.
    intent_.Change([](Intent& intent) { intent.state.RollBack(); });
    if (absl::Status known = objects_.TakeOverLate(); !known.ok()) return known;
    intent_.Change(edit);
  }
  absl::Status status = store_.Append(placed.records);
  if (status.ok()) {
    status = Push(change, deadline);
    if (!status.ok() && !placed.records.empty()) store_.TakeBack().IgnoreError();
    // A replacing placement makes the earlier ones superfluous. If the store still has them, it is
    // right all the same.
    if (status.ok() && placed.replaces) store_.KeepLast().IgnoreError();
  }
  if (status.ok()) {
    intent_.ChangeAndTell([&](Intent& intent) -> const CircuitChange& {
      intent.state.Commit();
      return change;
    });
  } else {
    intent_.Change([](Intent& intent) { intent.state.RollBack(); });
  }
  return status;
}

absl::Status CircuitCommit::CommitEach(const std::vector<Row>& inputs,
                                       const std::function<void(FabricState&, Row)>& deal,
                                       Deadline deadline) {
  if (inputs.empty()) return absl::OkStatus();
  const auto deal_with_all = [&](FabricState& state) {
    for (const Row input : inputs) deal(state, input);
  };
  absl::Status status = Commit(deal_with_all, deadline);
  if (status.ok() || IsUnreachable(status) || absl::IsAborted(status)) return status;
  // The data plane refuses one of the circuits: the others must not suffer for it.
  for (const Row input : inputs) {
    status = Commit([&](FabricState& state) { deal(state, input); }, deadline);
    if (IsUnreachable(status) || absl::IsAborted(status)) return status;
  }
  return absl::OkStatus();
}

absl::Status CircuitCommit::Push(const CircuitChange& change, Deadline deadline) {
  if (change.empty()) return absl::OkStatus();
  DataPlane& ingress = intent_.now().ingress();
  v1::AgentUpdateRequest request;
  request.mutable_install()->Reserve(static_cast<int>(change.install.size()));
  for (const StandingCircuit& circuit : change.install) AddInstall(circuit, &request);
  request.mutable_remove()->Add(change.remove.begin(), change.remove.end());
  request.set_base_revision(ingress.known().revision);
  const absl::StatusOr<v1::AgentUpdateResponse> response =
      ingress.client().Update(std::move(request), deadline);
  ingress.Learn([&](DataPlane::Known& known) {
    if (response.ok()) {
      known.revision = response->revision();
    } else if (IsUnreachable(response.status())) {
      // Nobody knows whether the data plane did it. The next look compares.
      known.reachable = known.reachable && IsLate(response.status());
      known.in_step = false;
      known.problem = std::string(response.status().message());
    }
  });
  return AtIngress(response.status());
}

absl::Status CircuitCommit::AtIngress(const absl::Status& status) const {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("data plane ", intent_.now().ingress().name(),
                                                  ": ", status.message()));
}

}  // namespace bfly::control
