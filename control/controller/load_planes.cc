// SPDX-License-Identifier: Apache-2.0
#include "control/controller/load_planes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/status/field_errors.h"

namespace bfly::control {
namespace {

absl::Status AtPlane(const DataPlane& plane, const absl::Status& status, Deadline deadline) {
  if (status.ok() || absl::IsInvalidArgument(status)) return status;
  if (absl::IsDeadlineExceeded(status) && IsOver(deadline)) {
    return absl::DeadlineExceededError(absl::StrCat("data plane ", plane.name(), " at ",
                                                    plane.address(), " did not answer in time"));
  }
  if (IsUnreachable(status)) {
    return absl::UnavailableError(absl::StrCat(
        "data plane ", plane.name(), " cannot be reached at ", plane.address(),
        "; start it with bfly-dataplane --name ", plane.name(), " (", status.message(), ")"));
  }
  return absl::Status(status.code(),
                      absl::StrCat("data plane ", plane.name(), ": ", status.message()));
}

// Claims the data plane and returns its state. FAILED_PRECONDITION: another controller owns it.
absl::StatusOr<v1::AgentState> ClaimOne(DataPlane& plane, Deadline deadline) {
  auto state = plane.client().Claim(/*full=*/false, deadline);
  if (state.ok() && !state->caller_owns()) return BelongsTo(state->owner());
  return state;
}

// Loads one data plane and remembers its state.
absl::Status LoadOne(const Intent& intent, DataPlane& plane, bool take_over, Deadline deadline) {
  const auto held = ClaimOne(plane, deadline);
  if (!held.ok()) return held.status();
  if (take_over && held->loaded()) {
    if (const auto last = plane.client().Unload(deadline); !last.ok()) return last.status();
  }
  const auto loaded = plane.client().Load(FabricRequest(intent, plane), deadline);
  if (!loaded.ok()) return loaded.status();
  const auto state = ClaimOne(plane, deadline);
  if (!state.ok()) return state.status();
  plane.Learn([&](DataPlane::Known& known) {
    const uint64_t loads = known.loads + 1;
    known = DataPlane::Known();
    known.loads = loads;
    known.reachable = known.in_step = known.owned = true;
    known.boot_id = state->boot_id();
    known.revision = loaded->revision();
    known.LearnStatus(*state);
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyAll(const Intent& intent, Deadline deadline) {
  FieldErrors errors;
  for (const auto& plane : intent.planes) {
    const absl::Status status = plane->client().Verify(FabricRequest(intent, *plane), deadline);
    if (absl::IsInvalidArgument(status)) {
      errors.Add(status);
    } else if (!status.ok()) {
      return AtPlane(*plane, status, deadline);
    }
  }
  return errors.ToStatus();
}

absl::Status ClaimAll(const Intent& intent, const DataPlanes& keep, Deadline deadline) {
  absl::Status status;
  for (const auto& plane : intent.planes) {
    if (status.ok()) status = AtPlane(*plane, ClaimOne(*plane, deadline).status(), deadline);
  }
  // An unload or a load that is sent with less time left may be done after its answer is given up.
  if (status.ok()) status = CheckTime(deadline - kUndoTime);
  if (status.ok()) return status;
  DataPlanes claimed = intent.planes;
  std::erase_if(claimed, [&](const auto& one) {
    return std::find(keep.begin(), keep.end(), one) != keep.end();
  });
  ReleaseAll(claimed, deadline);
  return status;
}

void ReleaseAll(const DataPlanes& planes, Deadline deadline) {
  for (const auto& plane : planes) plane->client().Release(UndoDeadline(deadline)).IgnoreError();
}

absl::Status LoadAll(const Intent& intent, bool take_over, Deadline deadline,
                     const std::function<void(const std::shared_ptr<DataPlane>&)>& give_up) {
  for (size_t i = 0; i < intent.planes.size(); ++i) {
    const absl::Status status = LoadOne(intent, *intent.planes[i], take_over, deadline);
    if (status.ok()) continue;
    for (size_t done = 0; done < i; ++done) {
      const auto unloaded = intent.planes[done]->client().Unload(UndoDeadline(deadline));
      if (!unloaded.ok()) give_up(intent.planes[done]);
    }
    if (IsUnreachable(status)) give_up(intent.planes[i]);
    ReleaseAll(intent.planes, deadline);
    return AtPlane(*intent.planes[i], status, deadline);
  }
  return absl::OkStatus();
}

std::vector<LastFigures> UnloadAll(const Intent& intent, Deadline deadline, EventLog& events) {
  std::vector<LastFigures> all;
  // They are unloaded in the order in which packets go, so that packets on a trunk may still
  // arrive.
  for (const auto& plane : intent.planes) {
    const size_t left = intent.planes.size() - all.size();
    const auto last = plane->client().Unload(ShareOf(deadline, left));
    // A data plane that restarted holds nothing.
    const bool empty = last.ok() || absl::IsFailedPrecondition(last.status());
    plane->Learn([&](DataPlane::Known& known) {
      known.in_step = empty;
      known.owned = false;
      known.left_behind = empty ? std::nullopt : std::optional(known.revision);
      if (empty) {
        known.status.set_state(v1::DataPlaneStatus::IDLE_STATE);
        known.workers.Clear();
        known.ports.Clear();
      } else {
        known.problem = "was not unloaded: " + std::string(last.status().message());
      }
    });
    if (!empty) {
      events.Note(v1::Event::WARNING,
                  absl::StrCat("data plane ", plane->name(), ": ", plane->known().problem),
                  plane->name());
    }
    all.push_back({plane->name(), last});
  }
  return all;
}

}  // namespace bfly::control
