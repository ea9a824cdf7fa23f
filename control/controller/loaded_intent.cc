// SPDX-License-Identifier: Apache-2.0
#include "control/controller/loaded_intent.h"

#include <algorithm>
#include <utility>

namespace bfly::control {

void LoadedIntent::ReadCommitted(const std::function<void()>& reader) const {
  {
    const std::shared_lock lock(state_);
    if (intent_ == nullptr || !intent_->state.shows_uncommitted()) return reader();
  }
  const std::unique_lock lock(state_);
  if (intent_ != nullptr && intent_->state.shows_uncommitted()) intent_->state.Withdraw();
  reader();
}

absl::Status LoadedIntent::Read(const std::function<void(const Intent&)>& reader) const {
  absl::Status status;
  ReadCommitted([&] {
    status = CheckLoaded();
    if (status.ok()) reader(*intent_);
  });
  return status;
}

bool LoadedIntent::TryRead(const std::function<void(const Intent&)>& reader) const {
  const std::shared_lock lock(state_);
  if (intent_ == nullptr || intent_->state.shows_uncommitted()) return false;
  reader(*intent_);
  return true;
}

absl::Status LoadedIntent::Watch(CircuitListener* listener,
                                 const std::function<absl::Status(const Network&)>& check) {
  absl::Status status;
  // Listeners get changes while the lock is held exclusively, so none is lost between the last two
  // lines.
  ReadCommitted([&] {
    status = CheckLoaded();
    if (status.ok()) status = check(intent_->state.network());
    if (!status.ok()) return;
    listener->OnFabric(intent_->state.shared_network(), intent_->state.circuits());
    feed_.Add(listener);
  });
  return status;
}

DataPlanes LoadedIntent::planes() const {
  const std::shared_lock lock(state_);
  DataPlanes all = past_;
  if (intent_ != nullptr) all.insert(all.begin(), intent_->planes.begin(), intent_->planes.end());
  return all;
}

bool LoadedIntent::all_usable() const {
  const std::shared_lock lock(state_);
  return intent_ == nullptr || CheckUsable().ok();
}

absl::StatusOr<std::unique_lock<TimedLock>> LoadedIntent::BeginChange(uint64_t election_id,
                                                                      Deadline deadline) {
  std::unique_lock change(change_, std::defer_lock);
  if (!change.try_lock_until(deadline)) {
    return absl::DeadlineExceededError(
        "other changes took until the deadline of the call; nothing was changed");
  }
  if (absl::Status status = arbitration_.Check(election_id); !status.ok()) return status;
  return change;
}

absl::Status LoadedIntent::CheckLoaded() const {
  if (intent_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("no fabric is loaded; load one with `bfly up FILE`");
}

absl::Status LoadedIntent::CheckUsable() const {
  for (const auto& plane : intent_->planes) {
    if (!plane->usable()) return plane->UnavailableError();
  }
  return absl::OkStatus();
}

bool LoadedIntent::Has(const DataPlane& plane) const {
  if (intent_ == nullptr) return false;
  return std::any_of(intent_->planes.begin(), intent_->planes.end(),
                     [&](const auto& mine) { return mine.get() == &plane; });
}

uint64_t LoadedIntent::last_circuit_id() const {
  return intent_ == nullptr ? last_id_of_fabrics_before_ : intent_->state.last_id();
}

void LoadedIntent::Replace(std::unique_ptr<Intent> intent) {
  const DataPlanes before = planes();
  const std::unique_lock lock(state_);
  last_id_of_fabrics_before_ = std::max(last_id_of_fabrics_before_, last_circuit_id());
  intent_ = std::move(intent);
  changes_.fetch_add(1, std::memory_order_release);
  feed_.TellFabric(intent_ == nullptr ? nullptr : intent_->state.shared_network());
  past_.clear();
  for (const auto& plane : before) {
    // Once another fabric is loaded, data planes that hold nothing need not be watched.
    const DataPlane::Known known = plane->known();
    if (Has(*plane)) continue;
    if (intent_ == nullptr || !known.in_step || known.given_up != nullptr) past_.push_back(plane);
  }
}

void LoadedIntent::WatchToo(const std::shared_ptr<DataPlane>& plane) {
  const DataPlanes watched = planes();
  if (std::find(watched.begin(), watched.end(), plane) != watched.end()) return;
  const std::unique_lock lock(state_);
  past_.push_back(plane);
}

}  // namespace bfly::control
