// SPDX-License-Identifier: Apache-2.0
// Calls whose clients do not read what they are sent. When others lack the memory that is held for
// such a call, it is cancelled.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

namespace bfly::control {

class StalledCalls {
 public:
  // It exists from the construction of a call's reactor to its OnDone.
  class Call {
   public:
    Call(StalledCalls& calls, grpc::CallbackServerContext* context);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Something is being sent from now on, or is not any more.
    void SetSending(bool sending);

   private:
    friend class StalledCalls;
    StalledCalls& calls_;
    grpc::CallbackServerContext* const context_;
    std::atomic<int64_t> since_ns_ = 0;  // of the steady clock; 0: nothing is being sent
  };

  // `is_short` says whether memory is wanted.
  explicit StalledCalls(std::function<bool()> is_short);
  ~StalledCalls();

 private:
  void Run();

  const std::function<bool()> is_short_;
  // Recursive, because gRPC may end a call on the thread that cancels it. No thread holds another
  // lock when it takes this one.
  std::recursive_mutex mutex_;
  std::condition_variable_any changed_;
  std::set<Call*> calls_;  // mutex_
  bool stopping_ = false;  // mutex_
  std::thread thread_;
};

}  // namespace bfly::control
