// SPDX-License-Identifier: Apache-2.0
#include "control/controller/schedule_view.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "control/controller/schedule_client.h"

namespace bfly::control {
namespace {

absl::StatusOr<v1::AgentScheduleState> Ask(const ScheduleView& view, const AgentCaller& caller,
                                           Deadline deadline) {
  const DataPlane::Known known = view.ingress->known();
  if (!known.reachable || known.other_fabric) return view.ingress->UnavailableError();
  // Readers do not wait for changes, so they have a connection of their own.
  ScheduleClient client(*view.ingress, caller);
  return client.Get(/*slots=*/false, /*counters=*/true, ShareOf(deadline, 2));
}

v1::GetScheduleResponse NotBegun(v1::Schedule schedule, std::string problem) {
  v1::GetScheduleResponse response;
  *response.mutable_kept() = std::move(schedule);
  response.set_kept_problem(std::move(problem));
  return response;
}

}  // namespace

ScheduleView ViewOf(const Intent& intent) {
  ScheduleView view;
  view.ingress = intent.planes[intent.plane_of_stage[0]];
  view.network = intent.state.shared_network();
  view.kept = intent.schedule;
  return view;
}

absl::StatusOr<v1::GetScheduleResponse> AnswerOf(ScheduleView view, const AgentCaller& caller,
                                                 Deadline deadline) {
  if (view.running == nullptr) {
    if (!view.compared) {
      const auto held = Ask(view, caller, deadline);
      if (!held.ok()) return held.status();
      if (held->has_running()) {
        return absl::UnavailableError(absl::StrCat("the schedule that data plane ",
                                                   view.ingress->name(),
                                                   " runs is taken over in a moment"));
      }
    }
    if (view.kept.has_value()) return NotBegun(*std::move(view.kept), std::move(view.problem));
    return v1::GetScheduleResponse();
  }
  auto held = Ask(view, caller, deadline);
  if (!held.ok()) return held.status();
  // The data plane may have lost the schedule and refuse to take it again.
  if (held->running().id() != view.running->id) {
    return NotBegun(view.running->routed.schedule, std::move(view.problem));
  }
  v1::GetScheduleResponse response;
  *response.mutable_status() = std::move(*held->mutable_counters());
  FillPaths(view.running->routed, view.network->rows(), response.mutable_status());
  response.mutable_status()->set_repairs(view.running->repairs);
  return response;
}

absl::StatusOr<v1::GetScheduleResponse> AmidChange(absl::StatusOr<v1::GetScheduleResponse> answer) {
  if (!answer.ok() || !answer->has_kept()) return answer;
  return absl::UnavailableError("the schedule is being changed; ask again in a moment");
}

}  // namespace bfly::control
