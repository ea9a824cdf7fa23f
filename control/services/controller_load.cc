// SPDX-License-Identifier: Apache-2.0
// Controller: which fabric is loaded.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/services/controller.h"
#include "control/services/load_planes.h"
#include "control/status/field_errors.h"

namespace bfly::control {

absl::Status Controller::Verify(const v1::Topology& topology, Deadline deadline) {
  const auto intent = MakeIntent(topology, options_.run_directory, options_.owner, planes(), 0);
  if (!intent.ok()) return intent.status();
  return VerifyAll(**intent, deadline);
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

absl::Status Controller::LoadPlanes(const Intent& intent, bool take_over, Deadline deadline) {
  return LoadAll(intent, take_over, deadline, [&](const auto& plane) { GiveUp(intent, plane); });
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

void Controller::Restore(Intent& intent, Deadline deadline) {
  absl::Status status = CheckTime(deadline);
  if (status.ok()) status = LoadPlanes(intent, /*take_over=*/true, deadline);
  for (const auto& plane : intent.planes) {
    if (status.ok()) status = Reconcile(*plane);
  }
  if (status.ok()) {
    options_.log(absl::StrCat("fabric ", intent.topology.name(), " runs again"));
    return;
  }
  // The watching thread loads them one by one as they answer.
  for (const auto& plane : intent.planes) MarkOutOfStep(*plane, status);
  options_.log(absl::StrCat("fabric ", intent.topology.name(),
                            " could not be loaded again at once: ", status.message()));
}

absl::Status Controller::Load(const v1::Topology& topology, bool replace, uint64_t election_id,
                              Deadline deadline) {
  const auto change = BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (intent_ != nullptr && !replace) {
    return ErrorAtField(absl::StatusCode::kFailedPrecondition, "replace",
                        absl::StrCat("fabric \"", intent_->topology.name(),
                                     "\" is loaded; unload it first, or set replace"));
  }
  const uint64_t last_id = intent_ == nullptr ? last_id_ : intent_->state.last_id();
  auto intent = MakeIntent(topology, options_.run_directory, options_.owner, planes(), last_id);
  if (!intent.ok()) return intent.status();
  if (absl::Status status = VerifyAll(**intent, deadline); !status.ok()) return status;
  // Before the fabric that runs is given up for one that cannot be loaded.
  if (absl::Status status =
          ClaimAll(**intent, intent_ == nullptr ? DataPlanes() : intent_->planes, deadline);
      !status.ok())
    return status;

  if (intent_ != nullptr) UnloadAll(*intent_, deadline, options_.log);
  absl::Status status = LoadPlanes(**intent, replace, deadline);
  if (!status.ok()) {
    if (intent_ != nullptr) Restore(*intent_, deadline);
    return status;
  }
  options_.log(absl::StrCat("fabric ", (*intent)->topology.name(), " loaded"));
  Replace(*std::move(intent));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LastFigures>> Controller::Unload(uint64_t election_id,
                                                            Deadline deadline) {
  const auto change = BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status status = CheckLoaded(); !status.ok()) return status;
  std::vector<LastFigures> last = UnloadAll(*intent_, deadline, options_.log);
  options_.log(absl::StrCat("fabric ", intent_->topology.name(), " unloaded"));
  Replace(nullptr);
  return last;
}

}  // namespace bfly::control
