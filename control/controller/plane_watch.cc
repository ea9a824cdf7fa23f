// SPDX-License-Identifier: Apache-2.0
#include "control/controller/plane_watch.h"

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// Whether the data plane held what the controller knew of it at some moment between `before`, when
// it was asked, and `now`. A revision is one more than the one before, and the controller knows
// only those that it made.
bool HeldWhatIsKnown(const v1::AgentState& held, const DataPlane::Known& before,
                     const DataPlane::Known& now) {
  return now.reachable && now.in_step && now.boot_id == held.boot_id() &&
         before.boot_id == held.boot_id() &&
         held.revision() - before.revision <= now.revision - before.revision &&
         (!now.owned || held.caller_owns());
}

}  // namespace

void PlaneWatch::LookAt(const DataPlanes& planes) {
  std::vector<std::jthread> others;
  for (size_t i = 1; i < planes.size(); ++i) {
    others.emplace_back([this, &plane = *planes[i]] { LookAt(plane); });
  }
  if (!planes.empty()) LookAt(*planes[0]);
}

void PlaneWatch::LookAt(DataPlane& plane) {
  const DataPlane::Known before = plane.known();
  const auto held = plane.client().Look(options_.look_time);
  if (!held.ok()) return Miss(plane, held.status());
  const auto in_step = [&] {
    bool is = false;
    plane.Learn([&](DataPlane::Known& known) {
      known.late_looks = 0;
      // An answer from before a load must not hide what is known since.
      if (known.loads == before.loads) known.LearnStatus(*held);
      is = HeldWhatIsKnown(*held, before, known);
    });
    return is;
  };
  if (in_step()) return;
  // The answer may be of a change whose own answer is not known yet. With the lock there is none.
  const std::lock_guard change(intent_.change_lock());
  if (!in_step() && !Look(plane)) reconciler_.Reconcile(plane).IgnoreError();
}

bool PlaneWatch::Look(DataPlane& plane) {
  const auto held = plane.client().Look(options_.look_time);
  if (!held.ok()) {
    Miss(plane, held.status());
    return true;
  }
  plane.Learn([&](DataPlane::Known& known) { known.LearnStatus(*held); });
  const DataPlane::Known now = plane.known();
  return HeldWhatIsKnown(*held, now, now);
}

void PlaneWatch::Miss(DataPlane& plane, const absl::Status& why) {
  const int most = options_.late_looks;
  bool is_new = false;
  plane.Learn([&](DataPlane::Known& known) {
    known.late_looks = IsLate(why) ? known.late_looks + 1 : 0;
    if (IsLate(why) && known.late_looks < most) {
      is_new = known.reachable && known.late_looks == 1;
      return;
    }
    known.in_step = false;
    known.problem = absl::StrCat("cannot be reached: ", why.message());
    if (IsLate(why)) absl::StrAppend(&known.problem, ", ", known.late_looks, " times in a row");
    known.reachable = false;
  });
  if (!is_new) return;
  options_.events->Note(
      v1::Event::WARNING,
      absl::StrCat("data plane ", plane.name(), " answers late: nothing came within ",
                   options_.look_time.count(), " ms"),
      plane.name());
}

}  // namespace bfly::control
