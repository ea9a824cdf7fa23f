// SPDX-License-Identifier: Apache-2.0
// Set-ups and releases, from unary calls and streams alike. No thread waits for each of them: work
// that comes while nothing else is done is carried out by the thread it came on; what comes
// meanwhile is carried out together as the next batch.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "control/services/controller.h"

namespace bfly::control {

class OrderQueue {
 public:
  // Slow pieces of work that may wait: each takes most of a millisecond, so the last of them waits
  // for about a second.
  static constexpr size_t kMaxSlow = 1'024;

  // One or several orders and who wants to know what became of them.
  class Work {
   public:
    virtual ~Work() = default;
    // False: nobody waits for it any more. Nothing is done then, and Done is called.
    virtual bool IsWanted() const { return true; }
    // Its jobs, in order, which it keeps until Done. May be called several times.
    virtual void AddJobs(std::vector<Controller::Job*>& jobs) = 0;
    // Once, from any thread.
    virtual void Done(bool carried_out) = 0;
  };

  // Work that takes its time, such as waiting for stage workers.
  class SlowWork {
   public:
    virtual ~SlowWork() = default;
    // Not OK: nobody waits for the work any more, or its time is over; it is given up for that.
    virtual absl::Status IsWanted() const = 0;
    // One of these two is called, once, from any thread.
    virtual void CarryOut() = 0;
    virtual void GiveUp(const absl::Status& status) = 0;
  };

  // `controller` must outlive the queue. Ends, with its threads, when no work is left.
  explicit OrderQueue(Controller& controller);
  ~OrderQueue();

  Resources& resources() { return controller_.resources(); }
  // In this order. True: the caller must call Lead, soon and from this thread.
  [[nodiscard]] bool Push(std::unique_ptr<Work> work);
  // Carries out what waits, a share of it.
  void Lead() { Lead(/*patient=*/false); }
  // Carried out one after the other, beside the other kind. RESOURCE_EXHAUSTED is what a piece of
  // work is given up for while kMaxSlow wait that are wanted.
  void PushSlow(std::unique_ptr<SlowWork> work);

 private:
  using Works = std::vector<std::unique_ptr<Work>>;

  void Run();
  void RunSlow();
  // Until nothing waits. A thread of gRPC's (`patient` false) has other calls to see to: it hands
  // over to thread_ when it would have to wait, or has done its share.
  void Lead(bool patient);
  // False: not `patient`, and the controller is changing something else; `works` wait still.
  bool CarryOut(Works& works, bool patient);

  Controller& controller_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;                       // mutex_
  bool led_ = false;                            // mutex_: a thread carries out what waits
  bool handed_over_ = false;                    // mutex_: that thread is to be thread_
  Works waiting_;                               // mutex_
  std::deque<std::unique_ptr<SlowWork>> slow_;  // mutex_
  std::thread thread_, slow_thread_;
};

}  // namespace bfly::control
