// SPDX-License-Identifier: Apache-2.0
#include "control/controller/schedule_control.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/controller/schedule_message.h"
#include "control/controller/schedule_request.h"
#include "control/controller/schedule_view.h"

namespace bfly::control {
namespace {

constexpr std::chrono::seconds kLookTime{5};
// From a try to begin a schedule that the data plane refuses to the next one.
constexpr std::chrono::seconds kBeginAgain{2};
// How long one look repairs slots while changes wait.
constexpr std::chrono::milliseconds kRepairTime{500};

// Of a change that the data plane may have taken up and did not confirm in time. The change stands:
// Look() compares the data plane with it from now on.
absl::Status Unconfirmed(const absl::Status& late, absl::string_view change) {
  return absl::DeadlineExceededError(
      absl::StrCat(late.message(), "; ", change,
                   " as soon as the data plane confirms it, and the controller goes on asking"));
}

uint64_t IdOf(const std::shared_ptr<const RunningSchedule>& running) {
  return running == nullptr ? 0 : running->id;
}

absl::Status CannotBeginYet(const absl::Status& why) {
  return absl::Status(why.code(),
                      absl::StrCat("the schedule that was kept cannot begin yet: ", why.message(),
                                   "; stop it, or start another with replace"));
}

}  // namespace

ScheduleControl::ScheduleControl(LoadedIntent& intent, Options options)
    : intent_(intent),
      options_(std::move(options)),
      watch_([this] { Look(); }, options_.watch_interval) {}

bool ScheduleControl::IsForNetwork(const SharedNetwork& network) {
  const std::lock_guard lock(mutex_);
  return network_ == network;
}

ScheduleControl::SharedRunning ScheduleControl::RunningOn(const SharedNetwork& network) {
  const std::lock_guard lock(mutex_);
  return network_ == network ? running_ : nullptr;
}

bool ScheduleControl::NeedsLook() {
  const SharedNetwork network = intent_.network();
  bool wanted = false;
  intent_.TryRead([&](const Intent& intent) { wanted = intent.schedule.has_value(); });
  const std::lock_guard lock(mutex_);
  if (network == nullptr) return network_ != nullptr;
  return network != network_ || running_ != nullptr || unsure_ || wanted;
}

void ScheduleControl::Look() {
  if (!NeedsLook()) return;
  std::unique_lock change(intent_.change_lock());
  const SharedNetwork network = intent_.network();
  if (!IsForNetwork(network)) Forget();
  if (network == nullptr || !intent_.now().ingress().usable()) return;
  if (Deadline::clock::now() < begin_again_) return;
  const Deadline deadline = Deadline::clock::now() + kLookTime;
  if (IsForNetwork(network)) {
    if (intent_.CheckUsable().ok()) Tell(KeepInStep(deadline));
    return;
  }
  bool asked = false;
  const absl::Status adopted = Adopt(deadline, /*begin_kept=*/true, [&asked] {
    asked = true;
    return absl::CancelledError("its paths are chosen without the change lock");
  });
  if (!asked) return Tell(adopted);
  const absl::Status chosen = kept_paths_.ChooseAhead(intent_, change, stops_);
  if (!chosen.ok() && !IsForNetwork(network)) Tell(EndKept(chosen));
}

void ScheduleControl::Forget() {
  const std::lock_guard lock(mutex_);
  if (running_ != nullptr) Note(v1::ScheduleEvent::ENDED, running_->routed);
  running_.reset();
  unsure_ = false;
  network_ = nullptr;
}

void ScheduleControl::Tell(const absl::Status& status) {
  const SharedNetwork network = intent_.network();
  const std::lock_guard lock(mutex_);
  if (!status.ok() && status.message() != told_problem_) {
    options_.events->Note(v1::Event::WARNING, absl::StrCat("schedule: ", status.message()));
  }
  told_problem_ = std::string(status.message());
  told_of_ = network;
}

ScheduleClient& ScheduleControl::ingress() {
  const DataPlane& plane = intent_.now().ingress();
  if (client_ == nullptr || !client_->IsOf(plane)) {
    client_ = std::make_unique<ScheduleClient>(plane, options_.caller);
  }
  return *client_;
}

absl::Status ScheduleControl::CompareFirst(Deadline deadline, bool begin_kept,
                                           const Interrupt& interrupt) {
  absl::Status status = intent_.CheckLoaded();
  if (!status.ok()) return status;
  if (IsForNetwork(intent_.now().state.shared_network())) {
    if (!HasUnbegun()) return absl::OkStatus();
    status = KeepInStep(deadline);  // ends what a failed start may have left
    if (!status.ok()) return status;
  }
  Forget();
  status = intent_.CheckUsable();
  if (status.ok()) status = Adopt(deadline, begin_kept, interrupt);
  if (!IsForNetwork(intent_.now().state.shared_network())) return status;
  Tell(status);  // a schedule that was kept and does not fit any more holds up no other
  return absl::OkStatus();
}

bool ScheduleControl::HasUnbegun() {
  return running_ == nullptr && intent_.now().schedule.has_value();
}

absl::Status ScheduleControl::Adopt(Deadline deadline, bool begin_kept,
                                    const Interrupt& interrupt) {
  const auto held = ingress().Get(/*slots=*/true, /*counters=*/false, deadline);
  if (!held.ok()) return held.status();
  const bool runs = held->has_running();
  if (!runs && begin_kept && intent_.now().schedule.has_value()) {
    const absl::Status usable = intent_.CheckUsable();
    return usable.ok() ? BeginKept(deadline, interrupt) : usable;
  }
  if (runs) Keep(held->running().schedule());
  const std::lock_guard lock(mutex_);
  network_ = intent_.network();
  if (!runs) return absl::OkStatus();
  running_ = std::make_shared<const RunningSchedule>(HeldSchedule(held->running(), intent_.now()));
  return absl::OkStatus();
}

absl::Status ScheduleControl::BeginKept(Deadline deadline, const Interrupt& interrupt) {
  const SharedNetwork network = intent_.now().state.shared_network();
  auto chosen = kept_paths_.PathsFor(intent_.now(), interrupt);
  if (absl::IsDeadlineExceeded(chosen.status()) || absl::IsCancelled(chosen.status())) {
    return chosen.status();
  }
  if (!chosen.ok()) return EndKept(chosen.status());
  const auto next = std::make_shared<const RunningSchedule>(
      NewSchedule(std::move(chosen->routed), std::move(chosen->faults)));
  absl::Status pushed = Push(*next, deadline);
  if (absl::IsInvalidArgument(pushed)) return EndKept(pushed);
  if (!pushed.ok() && !absl::IsDeadlineExceeded(pushed)) {
    begin_again_ = Deadline::clock::now() + kBeginAgain;
    return CannotBeginYet(pushed);
  }
  kept_paths_.Forget();
  const std::lock_guard lock(mutex_);
  network_ = network;
  unsure_ = !pushed.ok();
  Note(v1::ScheduleEvent::STARTED, next->routed);
  running_ = next;
  return pushed;
}

absl::Status ScheduleControl::EndKept(const absl::Status& why) {
  Keep(std::nullopt);
  const std::lock_guard lock(mutex_);
  network_ = intent_.now().state.shared_network();
  unsure_ = false;
  return absl::Status(why.code(),
                      absl::StrCat("the one that was kept does not fit any more: ", why.message()));
}

void ScheduleControl::Keep(std::optional<v1::Schedule> schedule) {
  kept_paths_.Forget();
  intent_.Change([&](Intent& intent) { intent.SetSchedule(std::move(schedule)); });
}

void ScheduleControl::RepairFaults() {
  const Deadline end = Deadline::clock::now() + kRepairTime;
  SharedRunning next = AfterFaults(
      intent_.now(), [end] { return CheckTime(end); }, *running_);
  if (next == nullptr) return;
  if (next->version != running_->version) Note(v1::ScheduleEvent::REPAIRED, next->routed);
  const std::lock_guard lock(mutex_);
  running_ = std::move(next);
}

absl::Status ScheduleControl::KeepInStep(Deadline deadline) {
  const auto held = ingress().Get(/*slots=*/false, /*counters=*/false, deadline);
  if (!held.ok()) return held.status();
  absl::Status status;
  if (running_ == nullptr) {
    if (held->has_running()) status = ingress().Stop(deadline).status();
  } else {
    RepairFaults();
    if (held->running().id() != running_->id || held->running().version() != running_->version) {
      status = Push(*running_, deadline);
      if (!status.ok() && !absl::IsDeadlineExceeded(status)) {
        begin_again_ = Deadline::clock::now() + kBeginAgain;
      }
    }
  }
  // The one that was kept is to begin after all.
  if (status.ok() && HasUnbegun()) Forget();
  const std::lock_guard lock(mutex_);
  unsure_ = !status.ok();
  return status;
}

absl::Status ScheduleControl::Push(const RunningSchedule& running, Deadline deadline) {
  v1::AgentScheduleRequest request = ScheduleMessageOf(running.id, running.version, running.routed,
                                                       intent_.now().state.network().rows());
  request.set_repairs(running.repairs);
  absl::Status pushed = ingress().Set(request, deadline);
  if (pushed.ok()) begin_again_ = {};
  return pushed;
}

absl::StatusOr<v1::ScheduleStatus> ScheduleControl::Start(const v1::StartScheduleRequest& request,
                                                          Deadline deadline,
                                                          const Interrupt& interrupt) {
  v1::Schedule schedule = request.schedule();
  if (absl::Status status = CheckScheduleRequest(&schedule); !status.ok()) return status;
  if (request.dry_run()) return dry_runs_.Route(schedule, intent_, interrupt);
  const auto change = intent_.BeginChange(request.election_id(), deadline);
  if (!change.ok()) return change.status();
  absl::Status known = CompareFirst(deadline, /*begin_kept=*/!request.replace(), interrupt);
  if (!known.ok()) return known;
  auto started = StartCompared(std::move(schedule), request.replace(), deadline, interrupt);
  // One that was kept is to begin after all, once it is sure that this one did not.
  if (!unsure_ && HasUnbegun()) Forget();
  return started;
}

absl::StatusOr<v1::ScheduleStatus> ScheduleControl::StartCompared(v1::Schedule schedule,
                                                                  bool replace, Deadline deadline,
                                                                  const Interrupt& interrupt) {
  const FabricState& state = intent_.now().state;
  if (!replace && running_ != nullptr) {
    return absl::FailedPreconditionError("a schedule runs; stop it, or start with replace");
  }
  if (absl::Status status = CheckWayBack(schedule, intent_.now()); !status.ok()) return status;
  absl::StatusOr<RoutedSchedule> routed = RouteSchedule(schedule, state, interrupt);
  if (!routed.ok()) return AtSchedule(routed.status());
  v1::ScheduleStatus status;
  FillPaths(*routed, state.network().rows(), &status);
  absl::Status pushed = intent_.CheckUsable();
  if (pushed.ok()) pushed = CheckTime(deadline);
  if (!pushed.ok()) return pushed;
  const auto next = std::make_shared<const RunningSchedule>(
      NewSchedule(*std::move(routed), state.faults().down()));
  changing_ = true;
  pushed = Push(*next, deadline);
  const std::lock_guard lock(mutex_);
  changing_ = false;
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
  absl::Status known = CompareFirst(deadline, /*begin_kept=*/true, interrupt);
  if (!known.ok()) return known;
  if (absl::Status status = CheckRuns(); !status.ok()) return status;
  const auto next = std::make_shared<RunningSchedule>(*running_);
  const auto changed = RouteAnew(intent_.now(), interrupt, *next);
  if (!changed.ok()) return changed.status();
  v1::RepairScheduleResponse response;
  response.set_changed_slots(*changed);
  response.set_broken_slots(BrokenSlots(next->routed));
  absl::Status pushed;
  if (response.changed_slots() > 0) {
    pushed = CheckTime(deadline);
    if (!pushed.ok()) return pushed;
    pushed = Push(*next, deadline);
  }
  const std::lock_guard lock(mutex_);
  unsure_ = unsure_ || !pushed.ok();
  if (!pushed.ok() && !absl::IsDeadlineExceeded(pushed)) {
    // The data plane may have the new paths all the same. No others get their version.
    const auto before = std::make_shared<RunningSchedule>(*running_);
    before->version = next->version + 1;
    running_ = before;
    return pushed;
  }
  if (response.changed_slots() > 0) Note(v1::ScheduleEvent::REPAIRED, next->routed);
  running_ = next;
  if (!pushed.ok()) return Unconfirmed(pushed, "the schedule has its new paths");
  return response;
}

absl::StatusOr<v1::ScheduleStatus> ScheduleControl::Stop(uint64_t election_id, Deadline deadline) {
  const auto change = intent_.BeginChange(election_id, deadline);
  if (!change.ok()) return change.status();
  absl::Status known = CompareFirst(deadline, /*begin_kept=*/false, {});
  if (!known.ok()) return known;
  v1::ScheduleStatus last;
  if (running_ == nullptr && intent_.now().schedule.has_value()) {
    last.set_rows(intent_.now().state.network().rows());
    *last.mutable_schedule() = *intent_.now().schedule;
    Keep(std::nullopt);
    options_.write_now();
    options_.events->Note(v1::Event::INFO, "schedule: the one that was kept ended unbegun");
    return last;
  }
  if (absl::Status status = CheckRuns(); !status.ok()) return status;
  // If the controller is killed before the data plane was asked, the next one finds that the
  // schedule runs, and takes it over. If it is killed after that, the store must have no schedule.
  const std::optional<v1::Schedule> kept = intent_.now().schedule;
  changing_ = true;
  Keep(std::nullopt);
  options_.write_now();
  const auto ended = ingress().Stop(deadline);
  const bool may_run_on = !ended.ok() && !absl::IsDeadlineExceeded(ended.status());
  if (may_run_on) Keep(kept);
  if (ended.ok()) last = ended->counters();
  FillPaths(running_->routed, intent_.now().state.network().rows(), &last);
  last.set_repairs(running_->repairs);
  const std::lock_guard lock(mutex_);
  changing_ = false;
  unsure_ = !ended.ok();
  if (may_run_on) return ended.status();
  Note(v1::ScheduleEvent::STOPPED, running_->routed);
  running_.reset();
  if (!ended.ok()) return Unconfirmed(ended.status(), "the schedule ends");
  return last;
}

std::map<RowPair, std::set<Tag>> ScheduleControl::TagsOfPairs(const std::set<RowPair>& pairs) {
  const SharedRunning running = RunningOn(intent_.network());
  return running == nullptr ? std::map<RowPair, std::set<Tag>>() : TagsOf(running->routed, pairs);
}

absl::StatusOr<v1::GetScheduleResponse> ScheduleControl::Get(Deadline deadline) {
  ScheduleView view;
  {
    const std::lock_guard lock(mutex_);
    const absl::Status read = intent_.Read([&](const Intent& intent) { view = ViewOf(intent); });
    if (!read.ok()) return read;
    view.compared = network_ == view.network;
    if (view.compared) view.running = running_;
    if (told_of_ == view.network) view.problem = told_problem_;
  }
  auto answer = AnswerOf(view, options_.caller, deadline);
  const bool changed = changing_ || IdOf(RunningOn(view.network)) != IdOf(view.running);
  return changed ? AmidChange(std::move(answer)) : answer;
}

}  // namespace bfly::control
