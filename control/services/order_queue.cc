// SPDX-License-Identifier: Apache-2.0
#include "control/services/order_queue.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

// Batches that a thread of gRPC's carries out before it goes back to its calls.
constexpr int kShare = 16;

}  // namespace

OrderQueue::OrderQueue(Controller& controller) : controller_(controller) {
  thread_ = std::thread([this] { Run(); });
  slow_thread_ = std::thread([this] { RunSlow(); });
}

OrderQueue::~OrderQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  slow_thread_.join();
}

bool OrderQueue::Push(std::unique_ptr<Work> work) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(work));
  return !std::exchange(led_, true);
}

void OrderQueue::PushSlow(std::unique_ptr<SlowWork> work) {
  std::vector<std::unique_ptr<SlowWork>> unwanted;
  {
    const std::lock_guard lock(mutex_);
    if (slow_.size() >= kMaxSlow) {
      // Calls that were given up make room for those that were not.
      std::erase_if(slow_, [&](std::unique_ptr<SlowWork>& waiting) {
        if (waiting->IsWanted().ok()) return false;
        unwanted.push_back(std::move(waiting));
        return true;
      });
    }
    if (slow_.size() < kMaxSlow) {
      slow_.push_back(std::move(work));
      changed_.notify_all();
    }
    resources().in_band_calls.Set(slow_.size());
  }
  for (const auto& given_up : unwanted) given_up->GiveUp(given_up->IsWanted());
  if (work != nullptr) {
    resources().in_band_calls.CountRefusal();
    work->GiveUp(absl::ResourceExhaustedError(
        absl::StrCat(kMaxSlow, " calls with in_band wait already; send fewer at a time")));
  }
}

void OrderQueue::Run() {
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

void OrderQueue::Lead(bool patient) {
  Works works;
  for (int batch = 0; patient || batch < kShare; ++batch) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) {
        led_ = false;
        return;
      }
      works.swap(waiting_);
    }
    if (!CarryOut(works, patient)) break;
    works.clear();
  }
  const std::lock_guard lock(mutex_);
  waiting_.insert(waiting_.begin(), std::move_iterator(works.begin()),
                  std::move_iterator(works.end()));
  handed_over_ = true;
  changed_.notify_all();
}

void OrderQueue::RunSlow() {
  for (;;) {
    std::unique_ptr<SlowWork> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !slow_.empty() || stopping_; });
      if (slow_.empty()) return;
      work = std::move(slow_.front());
      slow_.pop_front();
      resources().in_band_calls.Set(slow_.size());
    }
    const absl::Status wanted = work->IsWanted();
    if (wanted.ok()) {
      work->CarryOut();
    } else {
      work->GiveUp(wanted);
    }
  }
}

bool OrderQueue::CarryOut(Works& works, bool patient) {
  std::erase_if(works, [](const std::unique_ptr<Work>& work) {
    if (work->IsWanted()) return false;
    work->Done(/*carried_out=*/false);
    return true;
  });
  std::vector<Controller::Job*> jobs;
  for (const std::unique_ptr<Work>& work : works) work->AddJobs(jobs);
  if (patient) {
    controller_.Commit(jobs);
  } else if (!controller_.TryCommit(jobs)) {
    return false;
  }
  for (const std::unique_ptr<Work>& work : works) work->Done(/*carried_out=*/true);
  return true;
}

}  // namespace bfly::control
