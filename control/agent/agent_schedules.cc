// SPDX-License-Identifier: Apache-2.0
#include "control/agent/agent_schedules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/agent/caller.h"
#include "control/status/grpc_status.h"
#include "control/topology_file/schedule_file.h"
#include "dataplane/slots/schedules.h"

namespace bfly::control {
namespace {

dataplane::ScheduleConfig ConfigOf(const v1::AgentScheduleRequest& request) {
  const v1::Schedule& schedule = request.schedule();
  dataplane::ScheduleConfig config;
  config.id = request.id();
  config.slot_ns = static_cast<double>(SlotNsOf(schedule));
  config.guard_ns = static_cast<double>(GuardNsOf(schedule));
  config.late = schedule.late() == v1::Schedule::DROP  ? dataplane::LatePolicy::kDrop
                : schedule.late() == v1::Schedule::VLB ? dataplane::LatePolicy::kVlb
                                                       : dataplane::LatePolicy::kWait;
  config.queue_frames = schedule.queue();
  config.waiting_frames = schedule.waiting();
  for (const v1::AgentSlot& slot : request.slots()) {
    std::vector<Tag>& tags = config.tags.emplace_back();
    for (const uint64_t tag : slot.tags()) tags.push_back(tag - 1);  // 0: dataplane::kNoTag
  }
  return config;
}
static_assert(dataplane::kNoTag == Tag{0} - 1);

absl::StatusOr<dataplane::Schedules*> SchedulesOf(dataplane::Fabric& fabric) {
  if (dataplane::Schedules* const schedules = fabric.schedules()) return schedules;
  return absl::FailedPreconditionError("schedules run at stage 0, which another data plane runs");
}

void FillSlot(const dataplane::SlotCounters& counters, const v1::AgentSlot& slot, uint32_t number,
              v1::SlotStatus* out) {
  const auto circuits = static_cast<uint64_t>(
      std::count_if(slot.tags().begin(), slot.tags().end(), [](uint64_t tag) { return tag != 0; }));
  out->set_slot(number);
  out->set_circuits(static_cast<uint32_t>(circuits));
  out->set_turns(counters.turns);
  out->set_frames(counters.frames);
  out->set_bytes(counters.bytes);
  if (const uint64_t turns = counters.ended * circuits; turns > 0) {
    // A worker may count a turn that ended a moment later or earlier than the clock does.
    out->set_utilisation(
        std::min(1.0, static_cast<double>(counters.used) / static_cast<double>(turns)));
  }
  out->set_waited(counters.waited);
  if (counters.waited > 0) {
    out->set_mean_wait_ns(counters.wait_ns / static_cast<double>(counters.waited));
  }
  out->set_waiting(counters.waiting);
  out->set_full(counters.full);
  out->set_missed(counters.missed);
}

void FillReport(const dataplane::ScheduleReport& report, const v1::AgentScheduleRequest& running,
                v1::ScheduleStatus* out) {
  for (size_t i = 0; i < report.slots.size(); ++i) {
    FillSlot(report.slots[i], running.slots(static_cast<int>(i)), static_cast<uint32_t>(i),
             out->add_slots());
  }
  out->set_turns(report.turns);
  out->set_seconds(report.seconds);
  out->set_no_slot(report.no_slot);
  out->set_no_memory(report.no_memory);
  out->set_by_intermediate_row(report.by_intermediate_row);
  out->set_longest_wait_ns(report.longest_wait_ns);
  for (const auto& worker : report.workers) {
    v1::SlotSwitching* const switching = out->add_workers();
    switching->set_lcore(worker.lcore);
    switching->set_slots(worker.lateness.packets);
    switching->set_mean_ns(worker.lateness.mean);
    switching->set_p99_ns(static_cast<double>(worker.lateness.p99));
    switching->set_max_ns(static_cast<double>(worker.lateness.max));
    switching->set_passed_over(worker.passed_over);
  }
}

}  // namespace

grpc::Status AgentSchedulesService::Set(grpc::ServerContext* context,
                                        const v1::AgentScheduleRequest* request,
                                        v1::AgentScheduleResponse*) {
  if (absl::Status status = CheckCaller(*context, host_); !status.ok()) return ToGrpc(status);
  const std::lock_guard lock(mutex_);
  const absl::StatusOr<FabricInUse> in_use = host_.Use();
  if (!in_use.ok()) return ToGrpc(in_use.status());
  const auto schedules = SchedulesOf(*in_use->fabric);
  if (!schedules.ok()) return ToGrpc(schedules.status());
  v1::AgentScheduleRequest checked = *request;
  if (const auto violations = CheckSchedule(checked.mutable_schedule()); !violations.empty()) {
    return ToGrpc(ToStatus(violations));
  }
  const absl::Status status = (*schedules)->Start(ConfigOf(checked));
  // A worker that is late takes the schedule up all the same.
  if (status.ok() || absl::IsDeadlineExceeded(status)) held_ = *request;
  return ToGrpc(status);
}

grpc::Status AgentSchedulesService::Stop(grpc::ServerContext* context,
                                         const v1::AgentScheduleStopRequest*,
                                         v1::AgentScheduleStopResponse* response) {
  if (absl::Status status = CheckCaller(*context, host_); !status.ok()) return ToGrpc(status);
  const std::lock_guard lock(mutex_);
  const std::optional<v1::AgentScheduleRequest> held = std::exchange(held_, std::nullopt);
  const absl::StatusOr<FabricInUse> in_use = host_.Use();
  if (!in_use.ok()) return grpc::Status::OK;  // nothing is loaded, so nothing runs
  const auto schedules = SchedulesOf(*in_use->fabric);
  if (!schedules.ok()) return ToGrpc(schedules.status());
  const auto report = (*schedules)->Stop();
  if (absl::IsFailedPrecondition(report.status())) return grpc::Status::OK;  // none runs
  if (!report.ok()) return ToGrpc(report.status());
  if (held.has_value() && report->id == held->id()) {
    FillReport(*report, *held, response->mutable_counters());
  }
  return grpc::Status::OK;
}

grpc::Status AgentSchedulesService::Get(grpc::ServerContext*,
                                        const v1::AgentScheduleStateRequest* request,
                                        v1::AgentScheduleState* response) {
  const std::lock_guard lock(mutex_);
  if (!held_.has_value()) return grpc::Status::OK;
  const absl::StatusOr<FabricInUse> in_use = host_.Use();
  if (!in_use.ok()) return grpc::Status::OK;  // nothing is loaded, so nothing runs
  const auto schedules = SchedulesOf(*in_use->fabric);
  if (!schedules.ok()) return grpc::Status::OK;
  const auto report = (*schedules)->Report();
  if (!report.ok() || report->id != held_->id()) return grpc::Status::OK;
  v1::AgentScheduleRequest& running = *response->mutable_running();
  running.set_id(held_->id());
  running.set_version(held_->version());
  running.set_repairs(held_->repairs());
  if (request->slots()) {  // a schedule that lists its circuits is as large as its slots
    *running.mutable_schedule() = held_->schedule();
    *running.mutable_slots() = held_->slots();
  }
  if (request->counters()) FillReport(*report, *held_, response->mutable_counters());
  return grpc::Status::OK;
}

}  // namespace bfly::control
