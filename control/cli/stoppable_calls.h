// SPDX-License-Identifier: Apache-2.0
// Calls that another thread can end, for clients that must end at once when the user asks.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/status/status.h"
#include "control/cli/client.h"
#include "control/cli/verb.h"

namespace bfly::control {

// Unary calls that one thread makes one after another.
class StoppableCalls {
 public:
  // One answer may take as long as `deadline`.
  StoppableCalls(const Common& common, std::chrono::seconds deadline)
      : common_(common), deadline_(deadline) {}

  // Cancels the call under way. It ends with Cancelled, and so does every later call. Any thread
  // may stop the calls.
  void Stop() {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    if (running_ != nullptr) running_->TryCancel();
    stop_.notify_all();
  }

  // A call that was turned away is tried again.
  template <class Stub, class Request, class Response>
  absl::Status Call(Stub* stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    const auto give_up = std::chrono::steady_clock::now() + kTurnedAwayPatience;
    while (true) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + deadline_);
      if (!SetRunning(&context)) return absl::CancelledError("the calls were stopped");
      const grpc::Status answer = (stub->*method)(&context, request, response);
      SetRunning(nullptr);
      if (!WasTurnedAway(answer) || std::chrono::steady_clock::now() > give_up)
        return Explain(answer, common_);
      std::unique_lock lock(mutex_);
      stop_.wait_for(lock, kTryAgainEvery, [this] { return stopping_; });
    }
  }

 private:
  // Takes the context of the call that begins, or null after a call. Returns false if the calls
  // were stopped.
  bool SetRunning(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    running_ = stopping_ ? nullptr : context;
    return !stopping_;
  }

  const Common common_;
  const std::chrono::seconds deadline_;
  std::condition_variable stop_;
  std::mutex mutex_;  // guards the two fields below
  bool stopping_ = false;
  grpc::ClientContext* running_ = nullptr;
};

}  // namespace bfly::control
