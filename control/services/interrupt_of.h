// SPDX-License-Identifier: Apache-2.0
// Says when a call is to be given up half way.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "control/controller/deadline.h"
#include "control/controller/in_band_session.h"
#include "control/intent/fabric_state.h"

namespace bfly::control {

// What installing, answering and reading the answer may take once the setting up is done: so many
// times as long as that took, and a moment.
inline constexpr int kAfterwards = 8;
inline constexpr std::chrono::milliseconds kMoment{20};

// gRPC tells the deadline as a time of day, and the time of day may be corrected meanwhile.
inline Deadline DeadlineOf(const grpc::ServerContextBase* context) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::hours kNever{24 * 365};
  const auto left = context->deadline() - std::chrono::system_clock::now();
  return Clock::now() + std::min<Clock::duration>(left, kNever);
}

// Stops a call that nobody waits for any more. With `answer_in_time` it stops the call a little
// before the deadline, so that the answer still arrives.
inline Interrupt InterruptOf(const grpc::ServerContextBase* context, bool answer_in_time) {
  using Clock = std::chrono::steady_clock;
  return [context, answer_in_time, start = Clock::now(), deadline = DeadlineOf(context)] {
    const auto now = Clock::now();
    if (now >= deadline ||
        (answer_in_time && deadline - now < kAfterwards * (now - start) + kMoment)) {
      return absl::DeadlineExceededError("the deadline passed before the call was done");
    }
    if (context->IsCancelled()) return absl::CancelledError("cancelled before it was done");
    return absl::OkStatus();
  };
}

// How long an answer may take to reach its client.
inline constexpr std::chrono::milliseconds kAnswerTime{5};

// Until when a call may wait, so that its answer reaches the client by the client's deadline.
inline Deadline AnswerDeadlineOf(const grpc::ServerContextBase* context) {
  return DeadlineOf(context) - kAnswerTime;
}

// Stops a call in band that nobody waits for any more, or whose answer would come too late.
inline InBandSession::Patience InBandPatienceOf(const grpc::ServerContextBase* context) {
  Interrupt interrupt = [context, deadline = DeadlineOf(context)] {
    if (deadline < std::chrono::steady_clock::now() + kAnswerTime) {
      return absl::DeadlineExceededError(
          "the time is over, or too little of it is left for an answer; nothing was changed");
    }
    if (context->IsCancelled()) return absl::CancelledError("cancelled; nothing was changed");
    return absl::OkStatus();
  };
  return {std::move(interrupt), AnswerDeadlineOf(context)};
}

}  // namespace bfly::control
