// SPDX-License-Identifier: Apache-2.0
#include "dataplane/step_workers/loaded_step_programs.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "topologies/link_text.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStop{5};
constexpr std::chrono::milliseconds kLook{2};

bool IsTrue(const std::function<bool()>& cancelled) { return cancelled && cancelled(); }

absl::Status UnloadedBefore() { return absl::FailedPreconditionError("the fabric is unloaded"); }

absl::Status CancelledByCaller() {
  return absl::CancelledError("step_programs: the caller has cancelled the run");
}

// Says what to do after a change of links has ended a run.
std::string Again(absl::string_view program) {
  for (const RouteProgram& known : AllRoutePrograms()) {
    if (known.name != program) continue;
    if (known.around_faults) return "run it again: it goes around links that are down";
    return absl::StrCat("run it again when all links are up, because ", program,
                        " does not go around links that are down");
  }
  return "run it again";
}

}  // namespace

struct LoadedStepPrograms::Attempt {
  std::string program;
  RouteRequest request;
  RouteOptions options;
  FaultSet faults;
  std::unique_ptr<StepFrames> frames = nullptr;  // null: the packets have no frames
  absl::StatusOr<RouteReport> report = absl::InternalError("no report");
  bool ended = false;  // mutex_
};

absl::Status LoadedStepPrograms::Check(const Network& network, const FabricPlan& plan) {
  if (plan.first_stage == 0 && plan.last_stage + 1 == network.stages()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "step_programs: this data plane runs the stages ", plan.first_stage, "..", plan.last_stage,
      " of 0..", network.stages() - 1,
      ", and all workers of a step program must be in one data plane; place all stages on one, or "
      "run the program without the fabric"));
}

LoadedStepPrograms::LoadedStepPrograms(const Network& network, const FabricPlan& plan,
                                       const StageCrew::StageOf& stage_of,
                                       const StageCrew::WayOutOf& way_out_of,
                                       StepFrameSupply supply, FaultSet faults,
                                       BytesLeft bytes_left)
    : network_(network),
      plan_(plan),
      supply_(std::move(supply)),
      bytes_left_(bytes_left),
      crew_(network, plan, stage_of, way_out_of),
      faults_(std::move(faults)) {}

LoadedStepPrograms::~LoadedStepPrograms() {
  if (thread_.joinable()) thread_.join();
}

absl::Status LoadedStepPrograms::WaitForTurn(Lock& lock, const std::function<bool()>& cancelled) {
  while (busy_ && !stopping_.load(std::memory_order_acquire)) {
    changed_.wait_for(lock, kLook);
    lock.unlock();
    const bool gone = IsTrue(cancelled);
    lock.lock();
    if (gone) return CancelledByCaller();
  }
  if (stopping_.load(std::memory_order_acquire)) return UnloadedBefore();
  if (attempt_ == nullptr || attempt_->ended) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("step_programs: a program begun earlier has not ended, because ",
                   NamesOf(crew_.Late()), " makes no pass"));
}

absl::Status LoadedStepPrograms::CheckFaults(absl::string_view program,
                                             const FaultSet& faults) const {
  const auto changed = [program](LinkId link, absl::string_view how) {
    return absl::AbortedError(absl::StrCat("step_programs: link ", LinkText(link), how,
                                           " before the first step; ", Again(program)));
  };
  for (const LinkId& link : faults_.blocked_links()) {
    if (!faults.blocks(network_.link_index(link))) return changed(link, " went down");
  }
  for (const LinkId& link : faults.blocked_links()) {
    if (!faults_.blocks(network_.link_index(link))) return changed(link, " came up");
  }
  return absl::OkStatus();
}

absl::StatusOr<StepRun> LoadedStepPrograms::Run(absl::string_view program, const FaultSet& faults,
                                                const RouteRequest& request,
                                                const RouteOptions& options,
                                                const std::function<bool()>& cancelled) {
  Lock lock(mutex_);
  if (absl::Status status = WaitForTurn(lock, cancelled); !status.ok()) return status;
  if (absl::Status status = CheckFaults(program, faults); !status.ok()) return status;
  auto attempt = std::make_shared<Attempt>(Attempt{std::string(program), request, options, faults});
  if (options.frame_bytes != 0) {
    auto frames =
        StepFrames::Make(network_, supply_, attempt->request.relation, options.frame_bytes);
    if (!frames.ok()) return frames.status();
    attempt->frames = *std::move(frames);
  }
  busy_ = true;
  if (thread_.joinable()) thread_.join();  // it has ended
  crew_.Reset(attempt->frames.get());
  // Stop may have come before Reset.
  if (stopping_.load(std::memory_order_acquire)) crew_.GiveUp(StepEndCause::kUnloaded);
  changed_link_.clear();
  attempt->options.workers = 1;
  attempt->options.crew = &crew_;
  attempt->options.traffic = &crew_.traffic();
  attempt->options.max_bytes = std::min(options.max_bytes, bytes_left_());
  attempt_ = attempt;
  // It prepares the run and sums its report up. While the workers take the steps it sleeps.
  thread_ = std::thread([this, attempt] {
    attempt->report =
        RunRoute(attempt->program, network_, attempt->faults, attempt->request, attempt->options);
    const Lock ending(mutex_);
    attempt->ended = true;
    changed_.notify_all();
  });
  absl::Status status = WaitForEnd(lock, *attempt, cancelled);
  busy_ = false;
  changed_.notify_all();
  if (!status.ok()) return status;
  if (crew_.given_up()) return WhyGivenUp(program);
  if (!attempt->report.ok()) return attempt->report.status();
  const StageCrew::Times& times = crew_.times();
  std::optional<StepFrameCounts> frames;
  if (attempt->frames != nullptr) frames = crew_.frame_counts();
  return StepRun{.report = *std::move(attempt->report),
                 .seconds = times.seconds,
                 .barriers = times.barriers,
                 .barrier_seconds = times.barrier_seconds,
                 .workers = crew_.workers(),
                 .frames = frames};
}

absl::Status LoadedStepPrograms::WaitForEnd(Lock& lock, const Attempt& attempt,
                                            const std::function<bool()>& cancelled) {
  uint64_t rounds = crew_.rounds();
  Clock::time_point moved = Clock::now();
  while (!attempt.ended) {
    changed_.wait_for(lock, kLook);
    if (attempt.ended) break;
    lock.unlock();
    if (IsTrue(cancelled)) crew_.GiveUp(StepEndCause::kCancelled);
    lock.lock();
    const Clock::time_point now = Clock::now();
    if (const uint64_t r = crew_.rounds(); r != rounds || !crew_.running()) {
      rounds = r;
      moved = now;
    } else if (now - moved > patience_) {
      crew_.GiveUp(StepEndCause::kNoAnswer);
      return absl::DeadlineExceededError(absl::StrCat(
          "step_programs: ", NamesOf(crew_.Late()), " made no pass for ", patience_.count(),
          " ms; the run is given up, and its packets will be dropped when the worker goes on"));
    }
  }
  return absl::OkStatus();
}

absl::Status LoadedStepPrograms::WhyGivenUp(absl::string_view program) const {
  switch (crew_.cause()) {
    case StepEndCause::kCancelled:
      return CancelledByCaller();
    case StepEndCause::kLinkChanged:
      return absl::AbortedError(absl::StrCat(
          "step_programs: link ", changed_link_, " after step ", crew_.times().last_step,
          ", so the run has ended and its packets were dropped; ", Again(program)));
    case StepEndCause::kNone:
    case StepEndCause::kNoAnswer:
    case StepEndCause::kUnloaded:
      break;
  }
  return absl::UnavailableError("step_programs: the fabric was unloaded during the run");
}

std::string LoadedStepPrograms::NamesOf(const std::vector<int>& workers) const {
  std::string names;
  for (const int worker : workers) {
    absl::StrAppend(&names, names.empty() ? "the worker on lcore " : ", the worker on lcore ",
                    plan_.lcores[static_cast<size_t>(worker)]);
  }
  return names;
}

void LoadedStepPrograms::SetLinkUp(LinkId link, bool up) {
  const Lock lock(mutex_);
  if (faults_.is_down(link) != up) return;
  faults_.SetLinkUp(link, up);
  if (attempt_ == nullptr || attempt_->ended) return;
  if (changed_link_.empty()) {
    changed_link_ = absl::StrCat(LinkText(link), up ? " came up" : " went down");
  }
  crew_.GiveUp(StepEndCause::kLinkChanged);
}

void LoadedStepPrograms::SetPorts(rte_mempool* pool, std::vector<bool> has_port) {
  const Lock lock(mutex_);
  supply_.pool = pool;
  supply_.has_port = std::move(has_port);
}

void LoadedStepPrograms::Stop() {
  stopping_.store(true, std::memory_order_release);
  crew_.GiveUp(StepEndCause::kUnloaded);
  Lock lock(mutex_);
  changed_.notify_all();
  changed_.wait_for(lock, kStop, [this] { return attempt_ == nullptr || attempt_->ended; });
}

}  // namespace bfly::dataplane
