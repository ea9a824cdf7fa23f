// SPDX-License-Identifier: Apache-2.0
// The queue of everything that changes circuits, reads and objects. No thread waits for each plan.
// If nothing else is being done, a quick plan is carried out by the thread that it came on. Plans
// that come meanwhile are carried out together as the next batch, and committed as one. If more
// than kMostInBatch wait, callers take turns, so that nobody waits for all that another one asks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "control/controller/circuit_commit.h"
#include "control/controller/plan.h"
#include "control/controller/resources.h"
#include "control/controller/timed_lock.h"

namespace bfly::control {

class CommitQueue {
 public:
  using Clock = std::chrono::steady_clock;

  // The plans of one batch.
  static constexpr size_t kMostInBatch = 512;
  // How many long calls may wait. Each takes most of a millisecond, so the last of them waits for
  // about a second.
  static constexpr size_t kMaxLong = 1'024;

  // A call that takes long, because it waits for stage workers, for example.
  class LongCall {
   public:
    virtual ~LongCall() = default;
    // An error says why the call is given up: nobody waits for it any more, or its time is over.
    virtual absl::Status IsWanted() const = 0;
    // The queue calls one of these two, once, from any thread.
    virtual void Run() = 0;
    virtual void GiveUp(const absl::Status& status) = 0;
  };

  // The queue has `commit` carry out the plans, with `change` held. All three must outlive the
  // queue. The queue ends, with its threads, when nothing is left in it.
  CommitQueue(TimedLock& change, CircuitCommit& commit, Resources& resources);
  ~CommitQueue();

  Resources& resources() { return resources_; }
  // The plans of a caller are carried out in the order of its calls. If it returns true, the caller
  // must call Lead soon, from this thread.
  [[nodiscard]] bool Push(std::unique_ptr<Plan> plan);
  // Carries out some of the plans that wait.
  void Lead() { Lead(/*patient=*/false); }
  // Executes and commits on a thread of the queue's, if `arbitration` permits it for `election_id`.
  // DEADLINE_EXCEEDED: the plan had not begun by the deadline, and never will.
  absl::Status Commit(uint64_t election_id, const std::function<void(FabricState&)>& execute,
                      Clock::time_point deadline);
  // Calls `done`, once, on a thread of the queue's, when all that waits now was carried out. Who
  // asks again and again sees whether the queue goes on.
  void Beat(std::function<void()> done);
  // Long calls are carried out one after the other, beside the plans. While kMaxLong calls wait
  // that somebody wants, a new call is given up with RESOURCE_EXHAUSTED.
  void PushLong(std::unique_ptr<LongCall> call);

 private:
  using Plans = std::vector<std::unique_ptr<Plan>>;

  void Run();
  void RunLong();
  // Carries out plans until none waits. A thread of gRPC's (`patient` is false) has other calls to
  // see to, so it hands over to thread_ when it would have to wait, when a plan is not quick, or
  // when it has done its share.
  void Lead(bool patient);
  void HandOver();
  bool PushLocked(std::unique_ptr<Plan> plan);
  // Moves the plans of the next batch out of waiting_. mutex_.
  void TakeBatch(Plans& plans);
  // Returns false if the plan is being carried out, or was carried out.
  bool TakeBack(uint64_t serial);
  void CommitWanted(const Plans& plans);

  TimedLock& change_;
  CircuitCommit& commit_;
  Resources& resources_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                       // mutex_
  bool led_ = false;                            // mutex_: a thread carries out what waits
  bool handed_over_ = false;                    // mutex_: that thread is to be thread_
  uint64_t last_serial_ = 0;                    // mutex_
  Plans waiting_;                               // mutex_
  size_t not_quick_ = 0;                        // mutex_: of waiting_
  std::deque<std::unique_ptr<LongCall>> long_;  // mutex_
  std::thread thread_, long_thread_;
};

}  // namespace bfly::control
