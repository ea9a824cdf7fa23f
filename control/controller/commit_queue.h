// SPDX-License-Identifier: Apache-2.0
// The queue of everything that changes circuits, reads and objects. No thread waits for each plan:
// a plan that comes while nothing else is done is carried out by the thread it came on, if both
// may; plans that come meanwhile are carried out together as the next batch, and committed as one.
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

#include "control/controller/change_lock.h"
#include "control/controller/plan.h"
#include "control/controller/resources.h"

namespace bfly::control {

class CommitQueue {
 public:
  using Clock = std::chrono::steady_clock;
  // Has the plans executed and committed, and sets their status.
  using CarryOutPlans = std::function<void(const std::vector<Plan*>&)>;

  // Calls that take long and may wait: each takes most of a millisecond, so the last of them waits
  // for about a second.
  static constexpr size_t kMaxLong = 1'024;

  // A call that takes its time, such as waiting for stage workers.
  class LongCall {
   public:
    virtual ~LongCall() = default;
    // Not OK: nobody waits for the call any more, or its time is over; it is given up for that.
    virtual absl::Status IsWanted() const = 0;
    // One of these two is called, once, from any thread.
    virtual void CarryOut() = 0;
    virtual void GiveUp(const absl::Status& status) = 0;
  };

  // `carry_out` is called with `change` held. Both must outlive the queue, and so must `resources`.
  // The queue ends, with its threads, when nothing is left in it.
  CommitQueue(ChangeLock& change, CarryOutPlans carry_out, Resources& resources);
  ~CommitQueue();

  Resources& resources() { return resources_; }
  // In this order. True: the caller must call Lead, soon and from this thread.
  [[nodiscard]] bool Push(std::unique_ptr<Plan> plan);
  // Carries out a share of what waits.
  void Lead() { Lead(/*patient=*/false); }
  // Executes and commits, on a thread of the queue's, what `arbitration` permits `election_id`.
  // DEADLINE_EXCEEDED: it had not begun by the deadline, and never will.
  absl::Status Commit(uint64_t election_id, const std::function<void(FabricState&)>& execute,
                      Clock::time_point deadline);
  // Carried out one after the other, beside the plans. RESOURCE_EXHAUSTED is what a call is given
  // up for while kMaxLong wait that are wanted.
  void PushLong(std::unique_ptr<LongCall> call);

 private:
  using Plans = std::vector<std::unique_ptr<Plan>>;

  void Run();
  void RunLong();
  // Until nothing waits. A thread of gRPC's (`patient` false) has other calls to see to: it hands
  // over to thread_ when it would have to wait, or when something is not quick, or has done its
  // share.
  void Lead(bool patient);
  void HandOver();
  bool PushLocked(std::unique_ptr<Plan> plan);
  // False: it is carried out, or was.
  bool TakeBack(uint64_t serial);
  void CarryOutWanted(const Plans& plans);

  ChangeLock& change_;
  const CarryOutPlans carry_out_;
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
