// SPDX-License-Identifier: Apache-2.0
// Group commit: callers that come while one batch is being carried out are carried out together as
// the next. No thread of its own; one of the callers does the work of all.
#pragma once

#include <condition_variable>
#include <mutex>
#include <span>
#include <vector>

namespace bfly::control {

// Jobs belong to the caller of Run and are touched by others only while Run has not returned.
template <class Job>
class CommitQueue {
 public:
  // Returns when `carry_out(jobs)` was called, by this caller or another one, with all of `mine`
  // among them. Jobs are in the order of the calls.
  template <class CarryOut>
  void Run(std::span<Job* const> mine, CarryOut&& carry_out) {
    Entry entry{mine, false};
    std::unique_lock lock(mutex_);
    waiting_.push_back(&entry);
    changed_.wait(lock, [&] { return entry.done || !busy_; });
    if (entry.done) return;
    busy_ = true;
    std::vector<Entry*> batch;
    batch.swap(waiting_);
    lock.unlock();

    std::vector<Job*> jobs;
    for (Entry* member : batch) {
      jobs.insert(jobs.end(), member->jobs.begin(), member->jobs.end());
    }
    carry_out(jobs);

    lock.lock();
    for (Entry* member : batch) member->done = true;
    busy_ = false;
    changed_.notify_all();
  }

 private:
  struct Entry {
    std::span<Job* const> jobs;
    bool done;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Entry*> waiting_;
  bool busy_ = false;
};

}  // namespace bfly::control
