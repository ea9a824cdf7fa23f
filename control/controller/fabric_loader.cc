// SPDX-License-Identifier: Apache-2.0
#include "control/controller/fabric_loader.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/controller/agent_answers.h"
#include "control/controller/changed_ports.h"
#include "control/controller/faults.h"
#include "control/status/field_errors.h"
#include "control/topology_file/planned_faults.h"

namespace bfly::control {
namespace {

// Whether ResumeLeft says that what is kept does not fit. Other errors are the store's.
bool DoesNotFit(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Intent>> FabricLoader::Make(const v1::Topology& topology,
                                                           uint64_t last_id) {
  auto intent =
      MakeIntent(topology, options_.run_directory, options_.caller, intent_.planes(), last_id);
  if (!intent.ok()) return intent;
  FabricState& state = (*intent)->state;
  // A fabric that is taken over keeps the faults that its data planes hold instead.
  for (const Fault& fault : PlannedFaults((*intent)->topology.faults(), state.network()).down()) {
    state.SetFault(fault, /*down=*/true);
  }
  return intent;
}

absl::Status FabricLoader::Verify(const v1::Topology& topology, Deadline deadline) {
  const auto intent = Make(topology, 0);
  if (!intent.ok()) return intent.status();
  return VerifyAll(**intent, deadline);
}

absl::StatusOr<std::unique_ptr<Intent>> FabricLoader::MakeResumed(
    const v1::Topology& topology, uint64_t last_id, std::optional<v1::KeptIntent>& resumed) {
  auto intent =
      MakeIntent(topology, options_.run_directory, options_.caller, intent_.planes(), last_id);
  if (!intent.ok()) return intent;
  const uint64_t most_objects = Resources::MostObjects((*intent)->state.network().rows());
  auto restored = keeper_.RestoreInto(**intent, most_objects);
  if (!restored.ok()) return restored.status();
  if (!restored->has_value()) return Make(topology, last_id);
  resumed = *std::move(restored);
  return intent;
}

absl::StatusOr<KeptBefore> FabricLoader::Load(const v1::Topology& topology, LoadWay way,
                                              uint64_t election_id, Deadline deadline) {
  if (way.replace && way.resume) {
    return ErrorAtField(absl::StatusCode::kInvalidArgument, "resume",
                        "a fabric cannot replace another and be resumed at once; unload the one "
                        "that is loaded first");
  }
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  const Intent* before = intent_.is_loaded() ? &intent_.now() : nullptr;
  if (before != nullptr && !way.replace) {
    return ErrorAtField(absl::StatusCode::kFailedPrecondition, "replace",
                        absl::StrCat("fabric \"", before->topology.name(),
                                     "\" is loaded; unload it first, or set replace"));
  }
  KeptBefore kept;
  auto intent = way.resume ? MakeResumed(topology, intent_.last_circuit_id(), kept.resumed)
                           : Make(topology, intent_.last_circuit_id());
  if (!intent.ok()) return intent.status();
  absl::Status status = VerifyAll(**intent, deadline);
  // The data planes are claimed before the fabric that runs is given up for one that cannot be
  // loaded.
  if (status.ok()) {
    status = ClaimAll(**intent, before == nullptr ? DataPlanes() : before->planes, deadline);
  }
  if (!status.ok()) return status;

  if (before != nullptr) {
    keeper_.WriteNotWhole();  // Restore may load it again and fail to push the rest
    UnloadAll(*before, deadline, *options_.events);
  }
  status = LoadPlanes(**intent, way.replace, deadline);
  if (!status.ok()) {
    if (before != nullptr) Restore(deadline);
    return status;
  }
  // The ingress has a fabric without circuits until PushResumed has pushed what is kept.
  (*intent)->whole_at = kept.resumed.has_value() ? kNobody : (*intent)->ingress().known().boot_id;
  Note(kept.resumed.has_value() ? v1::TopologyEvent::RESUMED
       : before != nullptr      ? v1::TopologyEvent::REPLACED
                                : v1::TopologyEvent::LOADED,
       **intent, before);
  resources_.FitTo((*intent)->state.network().rows());
  if (kept.resumed.has_value()) {
    keeper_.Resume(*std::move(intent));
    PushResumed(deadline);
  } else {
    kept.set_aside = keeper_.Begin(*std::move(intent));
  }
  return kept;
}

void FabricLoader::PushResumed(Deadline deadline) {
  for (const auto& plane : DataPlanes(intent_.now().planes)) {
    reconciler_.Reconcile(*plane, deadline).IgnoreError();
  }
}

bool FabricLoader::ResumeLast() {
  const std::lock_guard change(intent_.change_lock());
  // A fabric that was loaded and ended since is not the last controller's.
  if (intent_.changes() != 0) return true;
  const auto left = keeper_.LeftLoaded();
  if (!left.ok()) return false;
  if (!left->has_value()) return true;
  if (absl::Status status = ResumeLeft(**left); !status.ok()) return DoesNotFit(status);
  // The ingress may have run on, and then it knows more.
  intent_.Change([](Intent& intent) { intent.circuits_known = false; });
  return true;
}

void FabricLoader::TakeOverSchedule() {
  const Intent& now = intent_.now();
  if (now.schedule_known || now.whole_at.empty()) return;
  const auto left = keeper_.LeftLoaded();
  if (!left.ok() || !left->has_value()) return;
  const v1::AgentState& kept = **left;
  if (!kept.has_schedule() || kept.boot_id() != now.whole_at) return;
  if (!SameButPorts(kept.topology(), now.topology)) return;
  intent_.Change([&](Intent& intent) { intent.SetSchedule(kept.schedule()); });
}

void FabricLoader::TakeOverLostFaults(const DataPlanes& found) {
  const auto left = keeper_.LeftLoaded();
  if (!left.ok() || !left->has_value()) return;
  const Network& network = intent_.now().state.network();
  if (!SameButPorts((*left)->topology(), intent_.now().topology)) return;
  if (!CheckAnswer(**left, network).ok()) return;
  std::map<const DataPlane*, bool> ran_on;
  for (const auto& plane : found) ran_on[plane.get()] = true;
  const auto is_lost = [&](const std::shared_ptr<DataPlane>& plane) {
    const auto [entry, is_new] = ran_on.try_emplace(plane.get(), false);
    // Another controller, which was killed, may own it still.
    if (is_new) {
      const auto held = plane->client().Look(options_.look_time);
      entry->second = held.ok() && held->loaded();
    }
    return !entry->second;
  };
  for (const Fault& fault : FaultsOf(**left, network).down()) {
    const DataPlanes runners = RunnersOf(fault, intent_.now());
    if (!std::all_of(runners.begin(), runners.end(), is_lost)) continue;
    intent_.Change([&](Intent& intent) { intent.state.SetFault(fault, /*down=*/true); });
  }
}

absl::StatusOr<bool> FabricLoader::ResumeKept(const v1::AgentState& held) {
  if (const std::string& whole_at = intent_.now().whole_at; !whole_at.empty()) {
    if (held.loaded() && whole_at == held.boot_id()) return false;
    intent_.Change([](Intent& intent) { intent.circuits_known = true; });
    return true;
  }
  const auto left = keeper_.LeftLoaded();
  // Only a data plane that holds a fabric may hold all of it.
  if (!left.ok() && !held.loaded()) return left.status();
  if (!left.ok() || !left->has_value()) return false;
  const v1::AgentState& kept = **left;
  if (!SameButPorts(kept.topology(), intent_.now().topology)) return false;
  if (held.loaded() && (kept.boot_id().empty() || kept.boot_id() == held.boot_id())) {
    // The ingress says nothing of a schedule that could not begin yet.
    if (!kept.boot_id().empty() && kept.has_schedule()) {
      intent_.Change([&](Intent& intent) { intent.SetSchedule(kept.schedule()); });
    }
    return false;
  }
  const absl::Status status = ResumeLeft(kept);
  if (status.ok()) return true;
  if (!DoesNotFit(status)) return status;
  return absl::FailedPreconditionError(
      absl::StrCat("does not get what is kept of the fabric: ", status.message(),
                   "; `bfly up FILE --replace` sets that aside and begins anew"));
}

absl::Status FabricLoader::ResumeLeft(const v1::AgentState& left) {
  std::optional<v1::KeptIntent> resumed;
  auto intent = MakeResumed(left.topology(), intent_.last_circuit_id(), resumed);
  if (!intent.ok()) {
    const std::string why = absl::StrCat("cannot be resumed: ", intent.status().message());
    // The watching thread tries it again at every look.
    if (std::exchange(not_resumed_, why) != why) NoteFailed(left.topology().name(), why);
    return intent.status();
  }
  not_resumed_.clear();
  // The same data planes go on, also one that was found at another address.
  if (intent_.is_loaded()) (*intent)->planes = intent_.now().planes;
  Note(v1::TopologyEvent::RESUMED, **intent, nullptr);
  resources_.FitTo((*intent)->state.network().rows());
  keeper_.Resume(*std::move(intent));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LastFigures>> FabricLoader::Unload(uint64_t election_id,
                                                              Deadline deadline) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = intent_.CheckLoaded(); !status.ok()) return status;
  std::vector<LastFigures> last = UnloadAll(intent_.now(), deadline, *options_.events);
  Note(v1::TopologyEvent::UNLOADED, intent_.now(), nullptr);
  keeper_.End();
  resources_.FitTo(0);
  return last;
}

absl::Status FabricLoader::LoadPlanes(const Intent& intent, bool take_over, Deadline deadline) {
  return LoadAll(intent, take_over, deadline,
                 [&](const std::shared_ptr<DataPlane>& plane) { GiveUp(intent, plane); });
}

void FabricLoader::GiveUp(const Intent& intent, const std::shared_ptr<DataPlane>& plane) {
  plane->Learn([&](DataPlane::Known& known) {
    known.in_step = false;
    known.problem = absl::StrCat("was told to load fabric \"", intent.topology.name(),
                                 "\" and did not answer; it is unloaded once it does");
    known.given_up = std::make_shared<const v1::Topology>(intent.topology);
  });
  intent_.WatchToo(plane);
}

void FabricLoader::Restore(Deadline deadline) {
  absl::Status status = CheckTime(deadline);
  if (status.ok()) status = LoadPlanes(intent_.now(), /*take_over=*/true, deadline);
  // Another intent of the same data planes may take the place of this one meanwhile.
  for (const auto& plane : DataPlanes(intent_.now().planes)) {
    if (status.ok()) status = reconciler_.Reconcile(*plane, deadline);
  }
  // The account begins anew. This comes last, because a poll before it may have read figures of
  // before the unload.
  intent_.Change([](Intent& now) { ++now.restores; });
  if (status.ok()) {
    return Note(v1::TopologyEvent::RESTORED, intent_.now(), nullptr);
  }
  // The watching thread loads the data planes one by one as they answer.
  for (const auto& plane : intent_.now().planes) MarkOutOfStep(*plane, status);
  NoteFailed(intent_.now().topology.name(),
             absl::StrCat("could not be loaded again at once: ", status.message()));
}

void FabricLoader::Note(v1::TopologyEvent::Change change, const Intent& intent,
                        const Intent* before) {
  v1::Event event;
  event.set_severity(v1::Event::INFO);
  v1::TopologyEvent& topology = *event.mutable_topology();
  topology.set_change(change);
  topology.set_fabric(intent.topology.name());
  if (before != nullptr) topology.set_before(before->topology.name());
  topology.set_rows(intent.state.network().rows());
  topology.set_circuits(intent.state.size());
  options_.events->Add(std::move(event));
}

void FabricLoader::NoteFailed(const std::string& fabric, const std::string& reason) {
  v1::Event event;
  event.set_severity(v1::Event::ERROR);
  event.mutable_topology()->set_change(v1::TopologyEvent::FAILED);
  event.mutable_topology()->set_fabric(fabric);
  event.mutable_topology()->set_reason(reason);
  options_.events->Add(std::move(event));
}

}  // namespace bfly::control
