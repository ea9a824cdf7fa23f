// SPDX-License-Identifier: Apache-2.0
// Calls whose clients do not read what they are sent. Such a call is cancelled when others lack the
// memory or the place that it holds, or when its time is over.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>

#include "control/controller/repeated_call.h"
#include "control/controller/resources.h"

namespace bfly::control {

class StalledCalls {
 public:
  // It exists from the construction of a call's reactor to its OnDone.
  class Call {
   public:
    // `places` are of the calls of its kind: calls that stall make room when all places of their
    // callers' share are taken.
    Call(StalledCalls& calls, grpc::CallbackServerContext* context, const Resource* places,
         Resource::Share share = Resource::Share::kAll);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Something is being sent from now on, or is not any more.
    void SetSending(bool sending);
    // The time of the call is over that much later than now.
    void EndAfter(std::chrono::nanoseconds time);

   private:
    friend class StalledCalls;
    // Whether the call is to be cancelled if it stalls, also while there is memory.
    bool MakesRoom(int64_t now) const;

    StalledCalls& calls_;
    grpc::CallbackServerContext* const context_;
    const Resource* const places_;
    const Resource::Share share_;
    // Both are moments of the steady clock.
    std::atomic<int64_t> since_ns_ = 0;        // 0: nothing is being sent
    std::atomic<int64_t> end_ns_ = INT64_MAX;  // of the call's time
  };

  // `is_short` says whether memory is wanted.
  explicit StalledCalls(std::function<bool()> is_short);

 private:
  void Look();

  const std::function<bool()> is_short_;
  // Recursive, because gRPC may end a call on the thread that cancels it. No thread holds another
  // lock when it takes this one.
  std::recursive_mutex mutex_;
  std::set<Call*> calls_;  // mutex_
  RepeatedCall looks_;     // last: it uses the rest
};

}  // namespace bfly::control
