// SPDX-License-Identifier: Apache-2.0
// Keeping data planes in step: after either side restarted, the two are compared and the difference
// is made up, never clearing first.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/services/agent_answers.h"
#include "control/services/controller.h"
#include "control/services/faults.h"
#include "google/protobuf/util/message_differencer.h"

namespace bfly::control {
namespace {

using google::protobuf::util::MessageDifferencer;

// How long a data plane may take to load a fabric again while it may still be loading another.
constexpr std::chrono::seconds kReloadTime{1};

}  // namespace

void Controller::Watch() {
  std::unique_lock lock(watch_mutex_);
  while (!stopping_) {
    lock.unlock();
    AdoptLate();
    for (const auto& plane : planes()) LookAt(*plane);
    lock.lock();
    watch_changed_.wait_for(lock, options_.watch_interval, [this] { return stopping_; });
  }
}

void Controller::LookAt(DataPlane& plane) {
  const auto look = [&plane] {
    const auto held = plane.client().GetState(/*full=*/false);
    bool in_step = false;
    plane.Learn([&](DataPlane::Known& known) {
      if (!held.ok()) {
        known.reachable = false;
        known.in_step = false;
        known.problem = absl::StrCat("cannot be reached: ", held.status().message());
        return;
      }
      known.status = held->status();
      in_step = known.reachable && known.in_step && known.boot_id == held->boot_id() &&
                known.revision == held->revision() && (!known.owned || held->caller_owns());
    });
    return !held.ok() || in_step;
  };
  const bool was_reachable = plane.known().reachable;
  if (!look()) {
    // A change may have been under way; look again when there is none.
    const std::lock_guard change(change_);
    if (!look()) Reconcile(plane).IgnoreError();
  }
  if (was_reachable && !plane.known().reachable) {
    options_.log(absl::StrCat("data plane ", plane.name(), " ", plane.known().problem));
  }
}

absl::Status Controller::Reconcile(DataPlane& plane) {
  const bool ours = IsInIntent(plane);
  absl::StatusOr<v1::AgentState> held =
      ours ? plane.client().Claim(/*full=*/true) : plane.client().GetState(/*full=*/true);
  absl::Status status = held.status();
  uint64_t made_up = 0;
  if (status.ok() && ours && !held->caller_owns()) status = BelongsTo(held->owner());
  if (status.ok()) status = ReconcileFabric(plane, *held);
  if (status.ok() && ours) status = CheckAnswer(*held, intent_->state.network());
  if (status.ok() && ours) {
    if (&plane == &intent_->ingress()) {
      const absl::StatusOr<uint64_t> changed = ReconcileCircuits(plane, *held);
      status = changed.status();
      if (changed.ok()) made_up = *changed;
    }
    if (status.ok()) status = ReconcileLinksAndTraffic(plane, *held);
  }
  bool told_before = false;
  plane.Learn([&](DataPlane::Known& known) {
    const bool came_back = held.ok() && known.boot_id != held->boot_id();
    if (held.ok()) {
      known.boot_id = held->boot_id();
      known.revision = held->revision();
      known.status = held->status();
    }
    known.reachable = held.ok();
    known.in_step = status.ok();
    known.owned = ours && held.ok() && held->caller_owns();
    told_before = !status.ok() && known.problem == status.message();
    known.problem = std::string(status.message());
    known.reconciled = came_back ? made_up : known.reconciled + made_up;
  });
  // Links that are down may have been found, or circuits that could not be dealt with before.
  if (status.ok() && IsInIntent(plane)) DealWithBroken({}, kNoDeadline);
  if (told_before) return status;
  options_.log(status.ok() ? absl::StrCat("data plane ", plane.name(), " is in step, ", made_up,
                                          " circuits made up")
                           : absl::StrCat("data plane ", plane.name(), ": ", status.message()));
  return status;
}

absl::Status Controller::ReconcileFabric(DataPlane& plane, v1::AgentState& held) {
  const std::shared_ptr<const v1::Topology> given_up = plane.known().given_up;
  const bool is_wanted = given_up != nullptr && IsInIntent(plane) &&
                         MessageDifferencer::Equals(*given_up, intent_->topology);
  if (given_up != nullptr && !is_wanted && held.loaded() &&
      MessageDifferencer::Equals(*given_up, held.topology())) {
    if (const auto last = plane.client().Unload(); !last.ok()) return last.status();
    plane.Learn([](DataPlane::Known& known) { known.given_up = nullptr; });
    options_.log(absl::StrCat("data plane ", plane.name(), " had loaded fabric ", given_up->name(),
                              " too late; it was unloaded"));
    auto now = plane.client().GetState(/*full=*/true);
    if (!now.ok()) return now.status();
    held = *std::move(now);
  }
  if (!IsInIntent(plane)) {
    // It was away when its fabric was unloaded. Anything but that fabric is not ours.
    if (!held.loaded() || held.revision() != plane.known().revision) return absl::OkStatus();
    const auto last = plane.client().Unload();
    return last.status();
  }
  if (!held.loaded()) {
    // A load that was given up may still be under way. The next look asks again, so that other
    // changes need not wait for it.
    const Deadline deadline =
        given_up == nullptr ? kNoDeadline : std::chrono::steady_clock::now() + kReloadTime;
    const auto loaded = plane.client().Load(FabricRequest(*intent_, plane), deadline);
    if (!loaded.ok()) return loaded.status();
    plane.Learn([](DataPlane::Known& known) { known.given_up = nullptr; });
    auto now = plane.client().GetState(/*full=*/true);
    if (!now.ok()) return now.status();
    held = *std::move(now);
    return absl::OkStatus();
  }
  if (!MessageDifferencer::Equals(intent_->topology, held.topology())) {
    return absl::FailedPreconditionError(absl::StrCat("runs another fabric, \"",
                                                      held.topology().name(),
                                                      "\"; load with replace to take it over"));
  }
  return absl::OkStatus();
}

void Controller::AdoptCircuits(const v1::AgentState& held) {
  const std::unique_lock lock(state_);
  for (const v1::AgentCircuit& circuit : held.circuits()) {
    const absl::Status status =
        intent_->state.Adopt(circuit.input(), circuit.tag(), circuit.id(),
                             circuit.has_object() ? std::optional(circuit.object()) : std::nullopt);
    // Two circuits to one output: only a data plane that was written to by others holds such a
    // thing.
    if (!status.ok()) options_.log(absl::StrCat("circuit not taken over: ", status.message()));
  }
  intent_->state.SetTraffic(Traffic({held.sources().begin(), held.sources().end()}));
  intent_->link_changes = held.link_changes();
  intent_->circuits_known = true;
  feed_.Tell({intent_->state.circuits(), {}});
}

absl::StatusOr<uint64_t> Controller::ReconcileCircuits(DataPlane& plane, v1::AgentState& held) {
  if (!intent_->circuits_known) AdoptCircuits(held);
  std::map<Row, v1::AgentCircuit> stale;
  for (const v1::AgentCircuit& circuit : held.circuits()) stale[circuit.input()] = circuit;
  v1::AgentUpdateRequest update;
  for (const StandingCircuit& circuit : intent_->state.circuits()) {
    const auto there = stale.find(circuit.path.input);
    const bool same = there != stale.end() && there->second.tag() == circuit.path.tag &&
                      there->second.id() == circuit.id;
    if (there != stale.end()) stale.erase(there);
    if (same) continue;
    v1::AgentCircuit* install = update.add_install();
    install->set_input(circuit.path.input);
    install->set_tag(circuit.path.tag);
    install->set_id(circuit.id);
    if (circuit.object.has_value()) install->set_object(*circuit.object);
  }
  for (const auto& [input, circuit] : stale) update.add_remove(input);
  const uint64_t changes = update.install_size() + update.remove_size();
  if (changes == 0) return 0;
  update.set_base_revision(held.revision());
  const auto updated = plane.client().Update(std::move(update));
  if (!updated.ok()) return updated.status();
  held.set_revision(updated->revision());
  return changes;
}

absl::Status Controller::ReconcileLinksAndTraffic(DataPlane& plane, const v1::AgentState& held) {
  const FaultSet there = FaultsOf(held, intent_->state.network());
  // What a person took down at the data plane by hand stays down. What a failed call took down is
  // brought back.
  const std::vector<Fault> taken_back = plane.known().taken_back;
  for (const Fault& fault : there.down()) {
    if (intent_->state.faults().is_down(fault)) continue;
    if (std::find(taken_back.begin(), taken_back.end(), fault) != taken_back.end()) {
      const absl::Status status = plane.client().SetFault(fault, /*down=*/false);
      if (!status.ok()) return status;
      continue;
    }
    std::vector<Row> crossing;
    {
      const std::unique_lock lock(state_);
      crossing = intent_->state.SetFault(fault, /*down=*/true);
    }
    TellCircuits(crossing);
    // Other data planes that run links of the node may not know.
    for (const auto& other : RunnersOf(fault, *intent_)) {
      if (other.get() != &plane) {
        other->Learn([](DataPlane::Known& known) { known.in_step = false; });
      }
    }
  }
  for (const Fault& fault : intent_->state.faults().down()) {
    const DataPlanes runners = RunnersOf(fault, *intent_);
    const bool runs = std::any_of(runners.begin(), runners.end(),
                                  [&](const auto& runner) { return runner.get() == &plane; });
    if (!runs || there.is_down(fault)) continue;
    if (absl::Status status = plane.client().SetFault(fault, /*down=*/true); !status.ok())
      return status;
  }
  plane.Learn([](DataPlane::Known& known) { known.taken_back.clear(); });
  // Until the data plane of stage 0 was heard after a restart, nobody knows what they should be.
  v1::AgentLinksRequest wanted, has;
  *wanted.mutable_changes() = intent_->link_changes;
  *has.mutable_changes() = held.link_changes();
  if (intent_->circuits_known && !MessageDifferencer::Equals(wanted, has)) {
    if (absl::Status status = plane.client().SetLinks(wanted); !status.ok()) return status;
  }
  if (&plane != &intent_->ingress()) return absl::OkStatus();
  v1::AgentTrafficRequest sources, held_sources;
  const Traffic& traffic = intent_->state.traffic();
  sources.mutable_sources()->Add(traffic.sources().begin(), traffic.sources().end());
  *held_sources.mutable_sources() = held.sources();
  if (MessageDifferencer::Equals(sources, held_sources)) return absl::OkStatus();
  sources.set_latency_id(traffic.latency_id());
  return plane.client().SetTraffic(sources);
}

}  // namespace bfly::control
