// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/worker.h"

#include <pthread.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>
#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/core/tsc_hz.h"

namespace bfly::dataplane {
namespace {

// An idle worker looks this often before it first sleeps, because another burst often follows
// immediately.
constexpr uint32_t kLooksBeforeSleep = 128;
constexpr long kShortestSleepNs = 10'000;
constexpr long kLongestSleepNs = 100'000;
// A sleep may last this much longer than asked. The worker wakes this early before something is
// due, and polls.
constexpr double kOversleepNs = 60'000;

}  // namespace

bool Worker::Pass() {
  StepWorker* const steps = steps_.load(std::memory_order_acquire);
  // The worker that leads a step program makes passes within this call until the program has ended.
  if (steps != nullptr) [[unlikely]]
    steps->Lead();
  if (const uint64_t asked = epoch_.asked(); !epoch_.answered(asked)) TakeUp(asked);
  const uint64_t now = rte_rdtsc();
  // The last pass ended where this one begins, so that a pass reads the clock once.
  if (was_busy_) busy_.Add(hops_in_pass_, now - pass_began_);
  pass_began_ = now;
  uint64_t held = 0;
  if (timed_.empty()) {
    for (Segment* segment : segments_) segment->Run(account_);
  } else {
    held = RunTimedSegments();
  }
  if (steps != nullptr) [[unlikely]]
    steps->SendFrames();
  uint64_t hops_made = 0;
  for (Segment* segment : segments_) {
    segment->Settle(account_);
    held += segment->held() + segment->waiting();
    hops_made += segment->hops_made();
  }
  hops_in_pass_ = hops_made - std::exchange(hops_made_, hops_made);
  if (steps != nullptr) [[unlikely]]
    held += steps->Work(account_.ledger);
  account_.ledger.held = held;
  InBandWorker* const in_band = in_band_.load(std::memory_order_acquire);
  const bool runs_circuits = in_band != nullptr && in_band->Run(account_.ledger);
  const bool runs_program = runs_circuits || steps != nullptr;
  passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  const bool moved = std::memcmp(&account_, &last_published_, sizeof(Account)) != 0;
  was_busy_ = moved;
  if (moved) {
    published_.Publish(account_);
    last_published_ = account_;
    for (Segment* segment : segments_) segment->HandOver();
  } else if (!runs_program) {
    Bump(idle_passes_, 1);
  }
  // Packets went on from link to link, which the account does not show, so the worker may sleep
  // now.
  if (!moved && hops_in_pass_ != 0) busy_.Add(hops_in_pass_, rte_rdtsc() - now);
  if (steps != nullptr) [[unlikely]]
    steps->Published();
  return moved || runs_program;
}

// Returns how many packets are on the links after the pass. `now` is one moment for the whole pass:
// a packet that arrives at a stage by then is there before the stage works out what its links did
// by then.
uint64_t Worker::RunTimedSegments() {
  for (Segment* segment : segments_) {
    segment->OpenRoom();
    segment->TakeInEarly(account_);
  }
  const uint64_t now = rte_rdtsc();
  for (Segment* segment : segments_) segment->RunTimed(now, account_, lateness_);
  uint64_t held = 0;
  bool dropped = false;
  for (Stage* stage : timed_) {
    held += stage->timed()->held();
    dropped = stage->DropEmptyTimed() || dropped;
  }
  if (dropped) std::erase_if(timed_, [](const Stage* stage) { return stage->timed() == nullptr; });
  return held;
}

void Worker::TakeUp(uint64_t asked) {
  for (SourceInlet* sources : sources_) sources->Refresh();
  for (Segment* segment : segments_) segment->Refresh(account_.ledger);
  const uint64_t now = rte_rdtsc();
  timed_.clear();
  for (Stage* stage : stages_) {
    stage->AdoptShapes(now);
    if (stage->timed() != nullptr) timed_.push_back(stage);
  }
  epoch_.Answer(asked);
}

PollCounts Worker::polls() const {
  PollCounts sum;
  for (const Segment* segment : segments_) segment->polls().AddTo(sum);
  return sum;
}

std::vector<StageCost> Worker::stage_costs() const {
  std::vector<StageCost> costs;
  for (const Segment* segment : segments_) segment->AddCosts(costs);
  std::sort(costs.begin(), costs.end(), [](const StageCost& a, const StageCost& b) {
    return std::pair(a.first_stage, a.stages) < std::pair(b.first_stage, b.stages);
  });
  return costs;
}

uint64_t Worker::DiscardTimed() {
  uint64_t sum = 0;
  for (Stage* stage : timed_) sum += stage->timed()->Discard();
  return sum;
}

// Returns the TSC at which the next packet is due, as far as it is known.
uint64_t Worker::NextEvent() const {
  uint64_t next = UINT64_MAX;
  for (const Stage* stage : timed_) next = std::min(next, stage->timed()->NextRelease());
  for (const Segment* segment : segments_) next = std::min(next, segment->NextDue());
  return next;
}

void Worker::Rest() {
  if (idle_ == IdleMode::kPoll || idle_in_a_row_ < kLooksBeforeSleep) {
    rte_pause();
    return;
  }
  const long longer = static_cast<long>(idle_in_a_row_ - kLooksBeforeSleep + 1);
  long sleep_ns = std::min(kShortestSleepNs * longer, kLongestSleepNs);
  if (const uint64_t next = NextEvent(); next != UINT64_MAX) {
    const auto ahead = static_cast<double>(static_cast<int64_t>(next - rte_rdtsc()));
    const double ahead_ns = ahead * 1e9 / static_cast<double>(TscHz());
    if (ahead_ns < kOversleepNs + kShortestSleepNs) {
      rte_pause();
      return;
    }
    if (ahead_ns - kOversleepNs < static_cast<double>(sleep_ns)) {
      sleep_ns = static_cast<long>(ahead_ns - kOversleepNs);
    }
  }
  const timespec sleep = {.tv_sec = 0, .tv_nsec = sleep_ns};
  nanosleep(&sleep, nullptr);
}

int Worker::Main(void* worker) {
  Worker& self = *static_cast<Worker*>(worker);
  if (self.thread_.moves && !self.Move()) return 0;
  // The kernel's default lets a sleep last 50 us longer than asked.
  prctl(PR_SET_TIMERSLACK, 1000UL);
  clockid_t clock;
  if (pthread_getcpuclockid(pthread_self(), &clock) == 0) {
    self.cpu_clock_.store(clock, std::memory_order_release);
  }
  while (!self.stop_.load(std::memory_order_relaxed)) {
    if (self.Pass()) {
      self.idle_in_a_row_ = 0;
    } else {
      if (self.idle_in_a_row_ < 1'000'000) ++self.idle_in_a_row_;
      self.Rest();
    }
  }
  self.epoch_.Leave();
  if (StepWorker* const steps = self.steps_.load(std::memory_order_acquire)) steps->Leave();
  self.stopped_.store(true, std::memory_order_release);
  return 0;
}

double Worker::CpuSeconds() const {
  const clockid_t clock = cpu_clock_.load(std::memory_order_acquire);
  timespec time{};
  if (clock == -1 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool Worker::Move() {
  rte_cpuset_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<size_t>(thread_.cpu), &cpus);
  const bool moved = rte_thread_set_affinity(&cpus) == 0;
  move_.store(moved ? Moved::kYes : Moved::kNo, std::memory_order_release);
  return moved;
}

absl::Status Worker::Start() {
  const auto cannot = [this](absl::StatusCode code, absl::string_view why) {
    return absl::Status(code, absl::StrCat("lcore ", lcore_, " cannot run a worker: ", why));
  };
  const absl::StatusOr<EalLcores::Thread> thread = ProcessLcores().Take(lcore_);
  if (!thread.ok()) return cannot(thread.status().code(), thread.status().message());
  thread_ = *thread;
  const auto number = static_cast<unsigned>(thread_.number);
  if (const int error = rte_eal_remote_launch(&Worker::Main, this, number); error != 0) {
    thread_.cpu = EalLcores::kNowhere;
    ProcessLcores().GiveBack(thread_);
    return cannot(absl::StatusCode::kFailedPrecondition, rte_strerror(-error));
  }
  while (thread_.moves && move_.load(std::memory_order_acquire) == Moved::kNotYet) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  if (move_.load(std::memory_order_acquire) == Moved::kNo) {
    rte_eal_wait_lcore(number);
    const std::string cpu = absl::StrCat("its thread cannot move to CPU ", thread_.cpu);
    thread_.cpu = EalLcores::kNowhere;
    ProcessLcores().GiveBack(thread_);
    return cannot(absl::StatusCode::kFailedPrecondition, cpu);
  }
  started_ = true;
  return absl::OkStatus();
}

absl::Status Worker::Join(double seconds) {
  if (!started_) return absl::OkStatus();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!stopped_.load(std::memory_order_acquire)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return absl::DeadlineExceededError(absl::StrCat("the worker on lcore ", lcore_,
                                                      " did not stop within ", seconds,
                                                      " s; a device call hangs"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  rte_eal_wait_lcore(static_cast<unsigned>(thread_.number));
  ProcessLcores().GiveBack(thread_);
  started_ = false;
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
