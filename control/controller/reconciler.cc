// SPDX-License-Identifier: Apache-2.0
#include "control/controller/reconciler.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "control/controller/agent_answers.h"
#include "control/controller/agent_circuits.h"
#include "control/controller/changed_ports.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

using google::protobuf::util::MessageDifferencer;

// How long a data plane may take to load a fabric again while it may still be loading another.
constexpr std::chrono::seconds kReloadTime{1};

// Whether the data plane does not know the object of a read, and the intent does.
bool LacksObject(const v1::AgentCircuit& held, const StandingCircuit& wanted) {
  return held.has_object() && held.object() == kUnknownObject &&
         wanted.object.value_or(kUnknownObject) != kUnknownObject;
}

// Returns the update after which the data plane has the circuits of the intent.
v1::AgentUpdateRequest DifferenceOf(const FabricState& wanted, const v1::AgentState& held) {
  std::map<Row, v1::AgentCircuit> stale;
  for (const v1::AgentCircuit& circuit : held.circuits()) stale[circuit.input()] = circuit;
  v1::AgentUpdateRequest update;
  for (const StandingCircuit& circuit : wanted.circuits()) {
    const auto there = stale.find(circuit.path.input);
    const bool same = there != stale.end() && there->second.tag() == circuit.path.tag &&
                      there->second.id() == circuit.id && !LacksObject(there->second, circuit);
    if (there != stale.end()) stale.erase(there);
    if (!same) AddInstall(circuit, &update);
  }
  for (const auto& [input, circuit] : stale) update.add_remove(input);
  return update;
}

// Whether the data plane still runs what it ran when it was to be unloaded and did not answer.
bool IsLeftBehind(const DataPlane::Known& known, const v1::AgentState& held) {
  const bool is_others = !held.owner().empty() && !held.caller_owns();
  return held.loaded() && !is_others && known.boot_id == held.boot_id() &&
         known.left_behind == held.revision();
}

}  // namespace

absl::Status Reconciler::Reconcile(DataPlane& plane, Deadline deadline) {
  const bool ours = intent_.Has(plane);
  absl::StatusOr<v1::AgentState> held = ours ? plane.client().Claim(/*full=*/true, deadline)
                                             : plane.client().GetState(/*full=*/true, deadline);
  absl::Status status = held.status();
  uint64_t made_up = 0;
  if (status.ok() && ours && !held->caller_owns()) status = BelongsTo(held->owner());
  if (status.ok() && ours && IsIngress(plane) && !intent_.now().circuits_known) {
    const absl::StatusOr<bool> resumed = resume_kept_(*held);
    status = resumed.status();
    if (resumed.ok() && *resumed) CompareAgain(plane);
  }
  if (status.ok()) status = ReconcileFabric(plane, deadline, *held);
  if (status.ok() && ours) status = CheckAnswer(*held, intent_.now().state.network());
  if (status.ok() && ours && IsIngress(plane)) {
    const absl::StatusOr<uint64_t> changed = ReconcileCircuits(plane, deadline, *held);
    status = changed.status();
    if (changed.ok()) made_up = *changed;
  }
  if (status.ok() && ours) status = faults_.Reconcile(plane, *held, deadline);
  if (status.ok() && ours) status = links_.Reconcile(plane, *held, deadline);
  if (status.ok() && ours) status = traffic_.Reconcile(plane, *held, deadline);
  Learn(plane, held, status, made_up);
  if (status.ok() && ours && IsIngress(plane)) NoteWhole(plane);
  // Reconciling may have found links that are down. Some circuits could not be dealt with before.
  if (status.ok() && ours) faults_.ApplyFailurePolicy({}, deadline);
  return status;
}

bool Reconciler::IsIngress(const DataPlane& plane) const {
  return &plane == &intent_.now().ingress();
}

bool Reconciler::RunsOther(const DataPlane& plane, const v1::AgentState& held) const {
  return intent_.Has(plane) && held.loaded() &&
         (!held.caller_owns() || !SameButPorts(intent_.now().topology, held.topology()));
}

void Reconciler::NoteWhole(const DataPlane& ingress) {
  const std::string boot_id = ingress.known().boot_id;
  if (intent_.now().whole_at == boot_id) return;
  intent_.Change([&](Intent& intent) { intent.whole_at = boot_id; });
}

void Reconciler::Learn(DataPlane& plane, const absl::StatusOr<v1::AgentState>& held,
                       const absl::Status& status, uint64_t made_up) {
  const bool other_fabric = held.ok() && !status.ok() && RunsOther(plane, *held);
  plane.Learn([&](DataPlane::Known& known) {
    const bool came_back = held.ok() && known.boot_id != held->boot_id();
    if (held.ok()) {
      known.late_looks = 0;
      known.boot_id = held->boot_id();
      known.revision = held->revision();
      known.other_fabric = other_fabric;
      known.LearnStatus(*held);
    }
    // Looks find out whether a data plane that answers late is still there.
    known.reachable = held.ok() || (known.reachable && IsLate(held.status()));
    known.in_step = status.ok();
    known.owned = intent_.Has(plane) && held.ok() && held->caller_owns();
    known.problem = std::string(status.message());
    known.reconciled = came_back ? made_up : known.reconciled + made_up;
    if (status.ok() || came_back) known.left_behind.reset();
  });
}

absl::Status Reconciler::UnloadLateFabric(DataPlane& plane, Deadline deadline,
                                          v1::AgentState& held) {
  if (const auto last = plane.client().Unload(deadline); !last.ok()) return last.status();
  plane.Learn([](DataPlane::Known& known) { known.given_up = nullptr; });
  events_.Note(v1::Event::WARNING,
               absl::StrCat("data plane ", plane.name(), " had loaded fabric ",
                            held.topology().name(), " too late; it was unloaded"),
               plane.name());
  auto now = plane.client().GetState(/*full=*/true, deadline);
  if (now.ok()) held = *std::move(now);
  return now.status();
}

absl::Status Reconciler::ReconcileFabric(DataPlane& plane, Deadline deadline,
                                         v1::AgentState& held) {
  const std::shared_ptr<const v1::Topology> given_up = plane.known().given_up;
  if (given_up != nullptr && held.loaded() &&
      MessageDifferencer::Equals(*given_up, held.topology())) {
    const bool is_wanted =
        intent_.Has(plane) && MessageDifferencer::Equals(*given_up, intent_.now().topology);
    const absl::Status status =
        is_wanted ? absl::OkStatus() : UnloadLateFabric(plane, deadline, held);
    if (!status.ok()) return status;
  }
  if (!intent_.Has(plane)) {
    // Any other fabric belongs to somebody else.
    if (!IsLeftBehind(plane.known(), held)) return absl::OkStatus();
    return plane.client().Unload(deadline).status();
  }
  if (!held.loaded()) {
    // A load that was given up may still be under way. The next look asks again, so that other
    // changes need not wait for it.
    const Deadline loaded_by =
        given_up == nullptr ? deadline : std::min(deadline, Deadline::clock::now() + kReloadTime);
    if (IsIngress(plane) && intent_.now().whole_at == held.boot_id()) keeper_.WriteNotWhole();
    v1::AgentFabricRequest request = FabricRequest(intent_.now(), plane);
    request.set_joins(true);
    const auto loaded = plane.client().Load(request, loaded_by);
    if (!loaded.ok()) return loaded.status();
    plane.Learn([](DataPlane::Known& known) { known.given_up = nullptr; });
    auto now = plane.client().GetState(/*full=*/true, deadline);
    if (now.ok()) held = *std::move(now);
    return now.status();
  }
  if (absl::Status status = ports_.Reconcile(plane, held, deadline); !status.ok()) return status;
  if (!MessageDifferencer::Equals(intent_.now().topology, held.topology())) {
    return absl::FailedPreconditionError(absl::StrCat("runs another fabric, \"",
                                                      held.topology().name(),
                                                      "\"; load with replace to take it over"));
  }
  return absl::OkStatus();
}

void Reconciler::Adopt(const v1::AgentState& held) {
  intent_.ChangeAndTell([&](Intent& intent) {
    std::vector<Row> before;
    for (const StandingCircuit& circuit : intent.state.circuits()) {
      before.push_back(intent.state.Release(circuit.path.input).path.input);
    }
    intent.state.Commit();
    for (const v1::AgentCircuit& circuit : held.circuits()) {
      const absl::Status status =
          intent.state.Adopt(circuit.input(), circuit.tag(), circuit.id(),
                             circuit.has_object() ? std::optional(circuit.object()) : std::nullopt);
      // Two circuits to one output: a data plane holds such a thing only if others wrote to it.
      if (status.ok()) continue;
      events_.Note(v1::Event::WARNING, absl::StrCat("circuit not taken over: ", status.message()),
                   held.data_plane());
    }
    // The store, which cannot be read, would say which ids were given.
    if (keeper_.is_unread()) {
      intent.state.SkipIds(intent.state.last_id() + kSetUpsUnread * intent.state.network().rows());
    }
    intent.state.SetTraffic(Traffic({held.sources().begin(), held.sources().end()}));
    intent.link_changes = held.link_changes();
    intent.circuits_known = true;
    CircuitChange change{.install = intent.state.circuits(), .remove = {}};
    for (const Row input : before) {
      if (!intent.state.AtInput(input).has_value()) change.remove.push_back(input);
    }
    return change;
  });
}

void Reconciler::CompareAgain(const DataPlane& known) {
  for (const auto& plane : intent_.now().planes) {
    if (plane.get() == &known) continue;
    plane->Learn([](DataPlane::Known& other) {
      other.in_step = false;
      other.problem = "is compared with what the data plane of stage 0 holds";
    });
  }
}

absl::StatusOr<uint64_t> Reconciler::ReconcileCircuits(DataPlane& plane, Deadline deadline,
                                                       v1::AgentState& held) {
  if (!intent_.now().circuits_known) {
    Adopt(held);
    CompareAgain(plane);
  }
  v1::AgentUpdateRequest update = DifferenceOf(intent_.now().state, held);
  const uint64_t changes = update.install_size() + update.remove_size();
  if (changes == 0) return 0;
  update.set_base_revision(held.revision());
  const auto updated = plane.client().Update(std::move(update), deadline);
  if (!updated.ok()) return updated.status();
  held.set_revision(updated->revision());
  return changes;
}

}  // namespace bfly::control
