// SPDX-License-Identifier: Apache-2.0
#include "control/controller/commit_queue.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "control/controller/turns.h"

namespace bfly::control {
namespace {

// How many batches a thread of gRPC's carries out before it goes back to its calls.
constexpr int kShare = 16;

absl::Status NotBegun() {
  return absl::DeadlineExceededError(
      "the deadline passed before the change was begun; nothing was changed");
}

// A thread that waits for its plan. The thread may go only when the plan is done or was taken back.
struct Waiter {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;    // mutex
  absl::Status status;  // mutex
};

class WaitedPlan final : public Plan {
 public:
  WaitedPlan(uint64_t election_id, const std::function<void(FabricState&)>& execute,
             Deadline deadline, Waiter& waiter)
      : election_id_(election_id), execute_(execute), deadline_(deadline), waiter_(waiter) {}

  bool IsQuick() const override { return false; }
  absl::Status IsWanted() const override {
    return Deadline::clock::now() < deadline_ ? absl::OkStatus() : NotBegun();
  }
  void Execute(FabricState& state, const Arbitration& arbitration) override {
    permitted_ = arbitration.Check(election_id_);
    if (permitted_.ok()) execute_(state);
  }
  void Done() override {
    const std::lock_guard lock(waiter_.mutex);
    waiter_.status = status.ok() ? permitted_ : status;
    waiter_.done = true;
    waiter_.changed.notify_all();
  }

 private:
  const uint64_t election_id_;
  const std::function<void(FabricState&)>& execute_;
  const Deadline deadline_;
  Waiter& waiter_;
  absl::Status permitted_;
};

// Changes nothing.
class BeatPlan final : public Plan {
 public:
  explicit BeatPlan(std::function<void()> done) : done_(std::move(done)) {}
  bool IsQuick() const override { return false; }
  void Execute(FabricState&, const Arbitration&) override {}
  void Done() override { done_(); }

 private:
  const std::function<void()> done_;
};

}  // namespace

CommitQueue::CommitQueue(TimedLock& change, CircuitCommit& commit, Resources& resources)
    : change_(change), commit_(commit), resources_(resources) {
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "bfly-queue");
  long_thread_ = std::thread([this] { RunLong(); });
}

CommitQueue::~CommitQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  long_thread_.join();
}

bool CommitQueue::PushLocked(std::unique_ptr<Plan> plan) {
  plan->serial = ++last_serial_;
  not_quick_ += !plan->IsQuick();
  waiting_.push_back(std::move(plan));
  return !std::exchange(led_, true);
}

bool CommitQueue::Push(std::unique_ptr<Plan> plan) {
  const std::lock_guard lock(mutex_);
  return PushLocked(std::move(plan));
}

bool CommitQueue::TakeBack(uint64_t serial) {
  const std::lock_guard lock(mutex_);
  const auto plan = std::find_if(waiting_.begin(), waiting_.end(),
                                 [&](const auto& waiting) { return waiting->serial == serial; });
  if (plan == waiting_.end()) return false;
  not_quick_ -= !(*plan)->IsQuick();
  waiting_.erase(plan);
  return true;
}

absl::Status CommitQueue::Commit(uint64_t election_id,
                                 const std::function<void(FabricState&)>& execute,
                                 Clock::time_point deadline) {
  Waiter waiter;
  auto plan = std::make_unique<WaitedPlan>(election_id, execute, deadline, waiter);
  uint64_t serial = 0;
  bool lead = false;
  {
    const std::lock_guard lock(mutex_);
    lead = PushLocked(std::move(plan));
    serial = last_serial_;
  }
  if (lead) HandOver();
  std::unique_lock lock(waiter.mutex);
  const auto done = [&waiter] { return waiter.done; };
  if (!waiter.changed.wait_until(lock, deadline, done)) {
    lock.unlock();
    if (TakeBack(serial)) return NotBegun();
    // The plan is being carried out. Calls to data planes have deadlines of their own.
    lock.lock();
    waiter.changed.wait(lock, done);
  }
  return waiter.status;
}

void CommitQueue::Beat(std::function<void()> done) {
  if (Push(std::make_unique<BeatPlan>(std::move(done)))) HandOver();
}

void CommitQueue::PushLong(std::unique_ptr<LongCall> call) {
  std::vector<std::unique_ptr<LongCall>> unwanted;
  {
    const std::lock_guard lock(mutex_);
    if (long_.size() >= kMaxLong) {
      // Calls that nobody waits for make room for those that somebody waits for.
      std::erase_if(long_, [&](std::unique_ptr<LongCall>& waiting) {
        if (waiting->IsWanted().ok()) return false;
        unwanted.push_back(std::move(waiting));
        return true;
      });
    }
    if (long_.size() < kMaxLong) {
      long_.push_back(std::move(call));
      changed_.notify_all();
    }
    resources_.in_band_calls.Set(long_.size());
  }
  for (const auto& given_up : unwanted) given_up->GiveUp(given_up->IsWanted());
  if (call != nullptr) {
    resources_.in_band_calls.CountRefusal();
    call->GiveUp(absl::ResourceExhaustedError(
        absl::StrCat(kMaxLong, " calls with in_band wait already; send fewer at a time")));
  }
}

void CommitQueue::Run() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return handed_over_ || stopping_; });
      if (!handed_over_) return;
      handed_over_ = false;
    }
    Lead(/*patient=*/true);
  }
}

void CommitQueue::Lead(bool patient) {
  Plans plans;
  for (int batch = 0; patient || batch < kShare; ++batch) {
    {
      // This thread does not hold change_ here, so the next thread that leads does not find it
      // taken.
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        led_ = false;
        return;
      }
    }
    // Plans wait in the queue, where they can be taken back, until they are begun.
    std::unique_lock change(change_, std::defer_lock);
    if (patient) {
      change.lock();
    } else if (!change.try_lock()) {
      break;
    }
    {
      const std::lock_guard lock(mutex_);
      if (!patient && not_quick_ != 0) break;
      TakeBatch(plans);
    }
    CommitWanted(plans);
    change.unlock();
    for (const std::unique_ptr<Plan>& plan : plans) plan->Done();
    plans.clear();
  }
  HandOver();
}

void CommitQueue::TakeBatch(Plans& plans) {
  if (waiting_.size() <= kMostInBatch) {
    plans.swap(waiting_);
    not_quick_ = 0;
    return;
  }
  std::vector<uint64_t> callers;
  for (const std::unique_ptr<Plan>& plan : waiting_) callers.push_back(plan->caller());
  const std::vector<bool> next = NextInTurn(callers, kMostInBatch);
  Plans left;
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i]) not_quick_ -= !waiting_[i]->IsQuick();
    (next[i] ? plans : left).push_back(std::move(waiting_[i]));
  }
  waiting_ = std::move(left);
}

void CommitQueue::HandOver() {
  const std::lock_guard lock(mutex_);
  handed_over_ = true;
  changed_.notify_all();
}

void CommitQueue::CommitWanted(const Plans& plans) {
  std::vector<Plan*> wanted;
  wanted.reserve(plans.size());
  for (const std::unique_ptr<Plan>& plan : plans) {
    plan->status = plan->IsWanted();
    if (plan->status.ok()) wanted.push_back(plan.get());
  }
  if (!wanted.empty()) commit_.CommitPlans(wanted);
}

void CommitQueue::RunLong() {
  for (;;) {
    std::unique_ptr<LongCall> call;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !long_.empty() || stopping_; });
      if (long_.empty()) return;
      call = std::move(long_.front());
      long_.pop_front();
      resources_.in_band_calls.Set(long_.size());
    }
    const absl::Status wanted = call->IsWanted();
    if (wanted.ok()) {
      call->Run();
    } else {
      call->GiveUp(wanted);
    }
  }
}

}  // namespace bfly::control
