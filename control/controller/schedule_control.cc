// SPDX-License-Identifier: Apache-2.0
#include "control/controller/schedule_control.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/controller/schedule_message.h"
#include "control/controller/schedule_request.h"

namespace bfly::control {
namespace {

constexpr std::chrono::seconds kLookTime{5};
// From a try to begin the schedule that was kept to the next one. Each chooses all its paths.
constexpr std::chrono::seconds kBeginAgain{2};
// How long one look repairs slots while changes wait.
constexpr std::chrono::milliseconds kRepairTime{500};

uint64_t NewId() {
  std::random_device random;
  return (uint64_t{random()} << 32 | random()) | 1;
}

// Of a change that the data plane may have taken up and did not confirm in time. The change stands:
// Look() compares the data plane with it from now on.
absl::Status Unconfirmed(const absl::Status& late, absl::string_view change) {
  return absl::DeadlineExceededError(
      absl::StrCat(late.message(), "; ", change,
                   " as soon as the data plane confirms it, and the controller goes on asking"));
}

absl::Status CannotBeginYet(const absl::Status& why) {
  return absl::Status(why.code(),
                      absl::StrCat("the schedule that was kept cannot begin yet: ", why.message(),
                                   "; stop it, or start another with replace"));
}

Interrupt InterruptAt(Deadline deadline) {
  return [deadline] { return CheckTime(deadline); };
}

}  // namespace

ScheduleControl::ScheduleControl(LoadedIntent& intent, Options options)
    : intent_(intent),
      options_(std::move(options)),
      watch_([this] { Look(); }, options_.watch_interval) {}

ScheduleControl::SharedNetwork ScheduleControl::LoadedNetwork() const {
  SharedNetwork network;
  intent_.Read([&](const Intent& intent) { network = intent.state.shared_network(); })
      .IgnoreError();
  return network;
}

bool ScheduleControl::IsOf(const SharedNetwork& network) {
  const std::lock_guard lock(mutex_);
  return network_ == network;
}

ScheduleControl::SharedRunning ScheduleControl::RunningOn(const SharedNetwork& network) {
  const std::lock_guard lock(mutex_);
  return network_ == network ? running_ : nullptr;
}

bool ScheduleControl::NeedsLook() {
  const SharedNetwork network = LoadedNetwork();
  const std::lock_guard lock(mutex_);
  if (network == nullptr) return network_ != nullptr;
  return network != network_ || running_ != nullptr || unsure_;
}

void ScheduleControl::Look() {
  if (!NeedsLook()) return;
  const std::lock_guard change(intent_.change_lock());
  const SharedNetwork network = LoadedNetwork();
  if (!IsOf(network)) Forget();
  if (network == nullptr || !intent_.CheckUsable().ok()) return;
  if (!IsOf(network) && Deadline::clock::now() < begin_again_) return;
  const Deadline deadline = Deadline::clock::now() + kLookTime;
  Tell(IsOf(network) ? KeepInStep(deadline) : Adopt(deadline, /*begin_kept=*/true));
}

void ScheduleControl::Forget() {
  const std::lock_guard lock(mutex_);
  if (running_ != nullptr) Note(v1::ScheduleEvent::ENDED, running_->routed);
  running_.reset();
  unsure_ = false;
  network_ = nullptr;
}

void ScheduleControl::Tell(const absl::Status& status) {
  if (!status.ok() && status.message() != told_problem_) {
    options_.events->Note(v1::Event::WARNING, absl::StrCat("schedule: ", status.message()));
  }
  told_problem_ = std::string(status.message());
}

ScheduleClient& ScheduleControl::ingress() {
  const DataPlane& plane = intent_.now().ingress();
  if (client_ == nullptr || !client_->IsOf(plane)) {
    client_ = std::make_unique<ScheduleClient>(plane, options_.caller);
  }
  return *client_;
}

absl::Status ScheduleControl::CompareFirst(Deadline deadline, bool begin_kept) {
  absl::Status status = intent_.CheckLoaded();
  if (!status.ok() || IsOf(intent_.now().state.shared_network())) return status;
  Forget();
  status = intent_.CheckUsable();
  if (status.ok()) status = Adopt(deadline, begin_kept);
  if (!IsOf(intent_.now().state.shared_network())) return status;
  Tell(status);  // a schedule that was kept and does not fit any more holds up no other
  return absl::OkStatus();
}

absl::Status ScheduleControl::Adopt(Deadline deadline, bool begin_kept) {
  const auto held = ingress().Get(/*slots=*/true, /*counters=*/false, deadline);
  if (!held.ok()) return held.status();
  const bool runs = held->has_running();
  if (!runs && begin_kept && intent_.now().schedule.has_value()) return BeginKept(deadline);
  if (runs) Keep(held->running().schedule());
  const std::lock_guard lock(mutex_);
  network_ = LoadedNetwork();
  if (!runs) return absl::OkStatus();
  running_ = std::make_shared<const Running>(
      Running{.id = held->running().id(),
              .version = held->running().version(),
              .routed = RoutedScheduleOf(held->running(), intent_.now().state),
              .faults = {},
              .repair_from = {}});
  return absl::OkStatus();
}

absl::Status ScheduleControl::BeginKept(Deadline deadline) {
  const Intent& intent = intent_.now();
  absl::StatusOr<RoutedSchedule> routed = RouteKept(*intent.schedule, intent);
  absl::Status pushed = routed.status();
  SharedRunning next;
  if (routed.ok()) {
    next = std::make_shared<const Running>(Running{.id = NewId(),
                                                   .routed = *std::move(routed),
                                                   .faults = intent.state.faults().down(),
                                                   .repair_from = {}});
    pushed = Push(*next, deadline);
  }
  const bool fits = next != nullptr && !absl::IsInvalidArgument(pushed);
  if (fits && !pushed.ok() && !absl::IsDeadlineExceeded(pushed)) {
    begin_again_ = Deadline::clock::now() + kBeginAgain;
    return CannotBeginYet(pushed);
  }
  if (!fits) Keep(std::nullopt);
  const std::lock_guard lock(mutex_);
  network_ = intent.state.shared_network();
  unsure_ = !pushed.ok();
  if (!fits) {
    return absl::Status(pushed.code(), absl::StrCat("the one that was kept does not fit any more: ",
                                                    pushed.message()));
  }
  Note(v1::ScheduleEvent::STARTED, next->routed);
  running_ = std::move(next);
  return pushed;
}

void ScheduleControl::Keep(std::optional<v1::Schedule> schedule) {
  intent_.Change([&](Intent& intent) { intent.schedule = std::move(schedule); });
}

void ScheduleControl::RepairFaults() {
  const FabricState& state = intent_.now().state;
  std::vector<Fault> faults = state.faults().down();
  const bool counted = faults == running_->faults;
  if (counted && !running_->repair_from.has_value()) return;
  const auto next = std::make_shared<Running>(*running_);
  if (!counted) {
    next->faults = std::move(faults);
    CountBroken(state.faults(), next->routed);
    next->repair_from = 0;
  }
  const Interrupt interrupt = InterruptAt(Deadline::clock::now() + kRepairTime);
  const bool repairs = RepairsCircuits(intent_.now());
  const bool changed = repairs && RepairBroken(state, interrupt, *next->repair_from, next->routed);
  if (!repairs || next->repair_from == next->routed.slots.size()) next->repair_from.reset();
  if (changed) {
    ++next->version;
    ++next->repairs;
    Note(v1::ScheduleEvent::REPAIRED, next->routed);
  }
  const std::lock_guard lock(mutex_);
  running_ = next;
}

absl::Status ScheduleControl::KeepInStep(Deadline deadline) {
  const auto held = ingress().Get(/*slots=*/false, /*counters=*/false, deadline);
  if (!held.ok()) return held.status();
  absl::Status status;
  if (running_ == nullptr) {
    if (held->has_running()) status = ingress().Stop(deadline);
  } else {
    RepairFaults();
    if (held->running().id() != running_->id || held->running().version() != running_->version) {
      status = Push(*running_, deadline);
    }
  }
  const std::lock_guard lock(mutex_);
  unsure_ = !status.ok();
  return status;
}

absl::Status ScheduleControl::Push(const Running& running, Deadline deadline) {
  return ingress().Set(ScheduleMessageOf(running.id, running.version, running.routed,
                                         intent_.now().state.network().rows()),
                       deadline);
}

absl::StatusOr<v1::ScheduleStatus> ScheduleControl::DryRun(const v1::Schedule& schedule,
                                                           uint64_t election_id,
                                                           const Interrupt& interrupt) {
  if (absl::Status status = intent_.CheckPermitted(election_id); !status.ok()) return status;
  // Who waits would keep a thread that changes need.
  const std::unique_lock turn(dry_run_, std::try_to_lock);
  if (!turn.owns_lock()) {
    return absl::ResourceExhaustedError(
        "another dry run of a schedule chooses its paths; ask again when it has ended");
  }
  return RouteDryRun(schedule, intent_, interrupt);
}

absl::StatusOr<v1::ScheduleStatus> ScheduleControl::Start(const v1::StartScheduleRequest& request,
                                                          Deadline deadline,
                                                          const Interrupt& interrupt) {
  v1::Schedule schedule = request.schedule();
  if (absl::Status status = CheckScheduleRequest(&schedule); !status.ok()) return status;
  if (request.dry_run()) return DryRun(schedule, request.election_id(), interrupt);
  const auto change = intent_.BeginChange(request.election_id(), deadline);
  if (!change.ok()) return change.status();
  absl::Status known = CompareFirst(deadline, /*begin_kept=*/!request.replace());
  if (!known.ok()) return known;
  auto started = StartCompared(std::move(schedule), request.replace(), deadline, interrupt);
  // One that was kept and not replaced is to begin after all.
  if (running_ == nullptr && intent_.now().schedule.has_value()) Forget();
  return started;
}

absl::StatusOr<v1::ScheduleStatus> ScheduleControl::StartCompared(v1::Schedule schedule,
                                                                  bool replace, Deadline deadline,
                                                                  const Interrupt& interrupt) {
  const FabricState& state = intent_.now().state;
  if (!replace && running_ != nullptr) {
    return absl::FailedPreconditionError("a schedule runs; stop it, or start with replace");
  }
  if (absl::Status led_back = CheckWayBack(schedule, intent_.now()); !led_back.ok()) {
    return led_back;
  }
  absl::StatusOr<RoutedSchedule> routed = RouteSchedule(schedule, state, interrupt);
  if (!routed.ok()) return AtSchedule(routed.status());
  v1::ScheduleStatus status;
  FillPaths(*routed, state.network().rows(), &status);
  absl::Status pushed = intent_.CheckUsable();
  if (pushed.ok()) pushed = CheckTime(deadline);
  if (!pushed.ok()) return pushed;
  const auto next = std::make_shared<const Running>(Running{.id = NewId(),
                                                            .routed = *std::move(routed),
                                                            .faults = state.faults().down(),
                                                            .repair_from = {}});
  pushed = Push(*next, deadline);
  const std::lock_guard lock(mutex_);
  unsure_ = !pushed.ok();
  if (!pushed.ok() && !absl::IsDeadlineExceeded(pushed)) return pushed;
  Note(running_ != nullptr ? v1::ScheduleEvent::REPLACED : v1::ScheduleEvent::STARTED,
       next->routed);
  Keep(next->routed.schedule);
  running_ = next;
  if (!pushed.ok()) return Unconfirmed(pushed, "the schedule starts");
  return status;
}

absl::Status ScheduleControl::CheckRuns() {
  if (running_ == nullptr) return absl::FailedPreconditionError("no schedule runs");
  return intent_.CheckUsable();
}

absl::StatusOr<v1::RepairScheduleResponse> ScheduleControl::Repair(uint64_t election_id,
                                                                   Deadline deadline,
                                                                   const Interrupt& interrupt) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status known = CompareFirst(deadline, /*begin_kept=*/true); !known.ok()) return known;
  if (absl::Status status = CheckRuns(); !status.ok()) return status;
  const FabricState& state = intent_.now().state;
  const auto next = std::make_shared<Running>(*running_);
  next->faults = state.faults().down();
  next->repair_from.reset();
  const auto changed = RouteAgain(state, next->routed, interrupt);
  if (!changed.ok()) return changed.status();
  v1::RepairScheduleResponse response;
  response.set_changed_slots(*changed);
  response.set_broken_slots(BrokenSlots(next->routed));
  absl::Status pushed;
  if (response.changed_slots() > 0) {
    ++next->version;
    ++next->repairs;
    pushed = CheckTime(deadline);
    if (!pushed.ok()) return pushed;
    pushed = Push(*next, deadline);
  }
  const std::lock_guard lock(mutex_);
  unsure_ = unsure_ || !pushed.ok();
  if (!pushed.ok() && !absl::IsDeadlineExceeded(pushed)) return pushed;
  if (response.changed_slots() > 0) Note(v1::ScheduleEvent::REPAIRED, next->routed);
  running_ = next;
  if (!pushed.ok()) return Unconfirmed(pushed, "the schedule has its new paths");
  return response;
}

absl::StatusOr<v1::ScheduleStatus> ScheduleControl::Stop(uint64_t election_id, Deadline deadline) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  if (absl::Status known = CompareFirst(deadline, /*begin_kept=*/false); !known.ok()) return known;
  v1::ScheduleStatus last;
  if (running_ == nullptr && intent_.now().schedule.has_value()) {
    last.set_rows(intent_.now().state.network().rows());
    *last.mutable_schedule() = *intent_.now().schedule;
    Keep(std::nullopt);
    options_.events->Note(v1::Event::INFO, "schedule: the one that was kept ended unbegun");
    return last;
  }
  if (absl::Status status = CheckRuns(); !status.ok()) return status;
  auto held = ingress().Get(/*slots=*/false, /*counters=*/true, deadline);
  if (!held.ok()) return held.status();
  if (held->running().id() == running_->id) last = std::move(*held->mutable_counters());
  FillPaths(running_->routed, intent_.now().state.network().rows(), &last);
  last.set_repairs(running_->repairs);
  // A data plane that was restarted may not have got the schedule again.
  absl::Status status;
  if (held->has_running()) status = ingress().Stop(deadline);
  const std::lock_guard lock(mutex_);
  unsure_ = !status.ok();
  if (!status.ok() && !absl::IsDeadlineExceeded(status)) return status;
  Note(v1::ScheduleEvent::STOPPED, running_->routed);
  Keep(std::nullopt);
  running_.reset();
  if (!status.ok()) return Unconfirmed(status, "the schedule ends");
  return last;
}

std::map<RowPair, std::set<Tag>> ScheduleControl::TagsOfPairs(const std::set<RowPair>& pairs) {
  const SharedNetwork network = LoadedNetwork();
  const SharedRunning running = RunningOn(network);
  return running == nullptr ? std::map<RowPair, std::set<Tag>>() : TagsOf(running->routed, pairs);
}

absl::StatusOr<v1::GetScheduleResponse> ScheduleControl::Get(Deadline deadline) {
  std::shared_ptr<const DataPlane> plane;
  SharedNetwork network;
  const absl::Status read = intent_.Read([&](const Intent& intent) {
    plane = intent.planes[intent.plane_of_stage[0]];
    network = intent.state.shared_network();
  });
  if (!read.ok()) return read;
  v1::GetScheduleResponse response;
  const SharedRunning running = RunningOn(network);
  if (running == nullptr) return response;
  if (!plane->known().reachable) return plane->UnavailableError();
  // Readers do not wait for changes, so they have a connection of their own.
  ScheduleClient client(*plane, options_.caller);
  auto held = client.Get(/*slots=*/false, /*counters=*/true, ShareOf(deadline, 2));
  if (!held.ok()) return held.status();
  if (held->running().id() == running->id) {
    *response.mutable_status() = std::move(*held->mutable_counters());
  }
  FillPaths(running->routed, network->rows(), response.mutable_status());
  response.mutable_status()->set_repairs(running->repairs);
  return response;
}

}  // namespace bfly::control
