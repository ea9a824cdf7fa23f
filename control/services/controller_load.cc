// SPDX-License-Identifier: Apache-2.0
// Loading and unloading: all data planes or none.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/services/controller.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

absl::Status AtPlane(const DataPlane& plane, const absl::Status& status) {
  if (status.ok() || absl::IsInvalidArgument(status)) return status;
  if (IsUnreachable(status)) {
    return absl::UnavailableError(absl::StrCat(
        "data plane ", plane.name(), " cannot be reached at ", plane.address(),
        "; start it with bfly-dataplane --name ", plane.name(), " (", status.message(), ")"));
  }
  return absl::Status(status.code(),
                      absl::StrCat("data plane ", plane.name(), ": ", status.message()));
}

// Its state, and it is ours. FAILED_PRECONDITION: another controller owns it.
absl::StatusOr<v1::AgentState> ClaimOne(DataPlane& plane) {
  auto state = plane.client().Claim(/*full=*/false);
  if (state.ok() && !state->caller_owns()) return BelongsTo(state->owner());
  return state;
}

// Loads one data plane and remembers what it is then.
absl::Status LoadOne(const Intent& intent, DataPlane& plane, bool take_over) {
  const auto held = ClaimOne(plane);
  if (!held.ok()) return held.status();
  if (take_over && held->loaded()) {
    if (const auto last = plane.client().Unload(); !last.ok()) return last.status();
  }
  const auto loaded = plane.client().Load(FabricRequest(intent, plane));
  if (!loaded.ok()) return loaded.status();
  const auto state = ClaimOne(plane);
  if (!state.ok()) return state.status();
  plane.Learn([&](DataPlane::Known& known) {
    known = DataPlane::Known();
    known.reachable = known.in_step = known.owned = true;
    known.boot_id = state->boot_id();
    known.revision = loaded->revision();
    known.status = state->status();
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status Controller::VerifyAll(const Intent& intent) {
  FieldErrors errors;
  for (const auto& plane : intent.planes) {
    const absl::Status status = plane->client().Verify(FabricRequest(intent, *plane));
    if (absl::IsInvalidArgument(status)) {
      errors.Add(status);
    } else if (!status.ok()) {
      return AtPlane(*plane, status);
    }
  }
  return errors.ToStatus();
}

absl::Status Controller::Verify(const v1::Topology& topology) {
  const auto intent = MakeIntent(topology, options_.run_directory, options_.owner, planes(), 0);
  if (!intent.ok()) return intent.status();
  return VerifyAll(**intent);
}

absl::Status Controller::ClaimAll(const Intent& intent) {
  for (const auto& plane : intent.planes) {
    const absl::Status status = ClaimOne(*plane).status();
    if (status.ok()) continue;
    // What the fabric that runs is made of stays ours.
    DataPlanes claimed = intent.planes;
    std::erase_if(claimed, [&](const auto& one) { return IsInIntent(*one); });
    ReleaseAll(claimed);
    return AtPlane(*plane, status);
  }
  return absl::OkStatus();
}

void Controller::ReleaseAll(const DataPlanes& planes) {
  for (const auto& plane : planes) plane->client().Release().IgnoreError();
}

absl::Status Controller::LoadAll(const Intent& intent, bool take_over) {
  for (size_t i = 0; i < intent.planes.size(); ++i) {
    const absl::Status status = LoadOne(intent, *intent.planes[i], take_over);
    if (status.ok()) continue;
    for (size_t done = 0; done < i; ++done) {
      if (!intent.planes[done]->client().Unload().ok()) GiveUp(intent, intent.planes[done]);
    }
    if (IsUnreachable(status)) GiveUp(intent, intent.planes[i]);
    ReleaseAll(intent.planes);
    return AtPlane(*intent.planes[i], status);
  }
  return absl::OkStatus();
}

void Controller::GiveUp(const Intent& intent, const std::shared_ptr<DataPlane>& plane) {
  plane->Learn([&](DataPlane::Known& known) {
    known.in_step = false;
    known.problem = absl::StrCat("was told to load fabric \"", intent.topology.name(),
                                 "\" and did not answer; it is unloaded once it does");
    known.given_up = std::make_shared<const v1::Topology>(intent.topology);
  });
  const DataPlanes watched = planes();
  if (std::find(watched.begin(), watched.end(), plane) != watched.end()) return;
  const std::unique_lock lock(state_);
  past_.push_back(plane);
}

std::vector<Controller::LastFigures> Controller::UnloadAll(const Intent& intent) {
  std::vector<LastFigures> all;
  // In the order packets go, so that what is on a trunk may still arrive.
  for (const auto& plane : intent.planes) {
    const auto last = plane->client().Unload();
    // A data plane that restarted holds nothing.
    const bool empty = last.ok() || absl::IsFailedPrecondition(last.status());
    plane->Learn([&](DataPlane::Known& known) {
      known.in_step = empty;
      known.owned = false;
      if (empty) {
        known.status.set_state(v1::DataPlaneStatus::IDLE_STATE);
        known.status.clear_workers();
      } else {
        known.problem = "was not unloaded: " + std::string(last.status().message());
      }
    });
    if (!empty)
      options_.log(absl::StrCat("data plane ", plane->name(), ": ", plane->known().problem));
    all.push_back({plane->name(), last});
  }
  return all;
}

bool Controller::IsInIntent(const DataPlane& plane) const {
  if (intent_ == nullptr) return false;
  return std::any_of(intent_->planes.begin(), intent_->planes.end(),
                     [&](const auto& mine) { return mine.get() == &plane; });
}

void Controller::Replace(std::unique_ptr<Intent> intent) {
  const DataPlanes before = planes();
  const absl::Status status =
      intent == nullptr ? store_->Remove() : store_->Begin(NameForStore(intent->topology));
  if (!status.ok()) options_.log(std::string(status.message()));
  const std::unique_lock lock(state_);
  if (intent_ != nullptr) last_id_ = std::max(last_id_, intent_->state.last_id());
  resources_.FitTo(intent == nullptr ? 0 : intent->state.network().rows());
  intent_ = std::move(intent);
  feed_.TellFabric(intent_ == nullptr ? nullptr : intent_->state.shared_network());
  past_.clear();
  for (const auto& plane : before) {
    // Once another fabric is loaded, data planes that hold nothing need not be watched.
    const DataPlane::Known known = plane->known();
    if (IsInIntent(*plane)) continue;
    if (intent_ == nullptr || !known.in_step || known.given_up != nullptr) past_.push_back(plane);
  }
}

void Controller::Restore(Intent& intent) {
  absl::Status status = LoadAll(intent, /*take_over=*/true);
  for (const auto& plane : intent.planes) {
    if (status.ok()) status = Reconcile(*plane);
  }
  options_.log(status.ok() ? absl::StrCat("fabric ", intent.topology.name(), " runs again")
                           : absl::StrCat("fabric ", intent.topology.name(),
                                          " could not be loaded again: ", status.message()));
}

absl::Status Controller::Load(const v1::Topology& topology, bool replace, uint64_t election_id) {
  const std::lock_guard change(change_);
  if (absl::Status status = arbitration_.Check(election_id); !status.ok()) return status;
  if (intent_ != nullptr && !replace) {
    return ErrorAtField(absl::StatusCode::kFailedPrecondition, "replace",
                        absl::StrCat("fabric \"", intent_->topology.name(),
                                     "\" is loaded; unload it first, or set replace"));
  }
  const uint64_t last_id = intent_ == nullptr ? last_id_ : intent_->state.last_id();
  auto intent = MakeIntent(topology, options_.run_directory, options_.owner, planes(), last_id);
  if (!intent.ok()) return intent.status();
  if (absl::Status status = VerifyAll(**intent); !status.ok()) return status;
  // Before the fabric that runs is given up for one that cannot be loaded.
  if (absl::Status status = ClaimAll(**intent); !status.ok()) return status;

  if (intent_ != nullptr) UnloadAll(*intent_);
  absl::Status status = LoadAll(**intent, replace);
  if (!status.ok()) {
    if (intent_ != nullptr) Restore(*intent_);
    return status;
  }
  options_.log(absl::StrCat("fabric ", (*intent)->topology.name(), " loaded"));
  Replace(*std::move(intent));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Controller::LastFigures>> Controller::Unload(uint64_t election_id) {
  const std::lock_guard change(change_);
  if (absl::Status status = arbitration_.Check(election_id); !status.ok()) return status;
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  std::vector<LastFigures> last = UnloadAll(*intent_);
  options_.log(absl::StrCat("fabric ", intent_->topology.name(), " unloaded"));
  Replace(nullptr);
  return last;
}

}  // namespace bfly::control
