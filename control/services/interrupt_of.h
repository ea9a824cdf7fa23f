// SPDX-License-Identifier: Apache-2.0
// When a call is to be given up half way.
#pragma once

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>

#include "control/services/fabric_state.h"

namespace bfly::control {

// What installing and answering may take once the setting up is done: so many times as long as that
// took, and a moment.
inline constexpr int kAfterwards = 3;
inline constexpr std::chrono::milliseconds kMoment{20};

// Stops what nobody waits for any more. With `answer_in_time` a little before the deadline, so that
// the answer still arrives.
inline Interrupt InterruptOf(grpc::ServerContext* context, bool answer_in_time) {
  // gRPC tells the deadline as a time of day, which may be corrected meanwhile.
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::hours kNever{24 * 365};
  const auto start = Clock::now();
  const auto left = context->deadline() - std::chrono::system_clock::now();
  const auto deadline = start + std::min<Clock::duration>(left, kNever);
  return [context, answer_in_time, start, deadline] {
    const auto now = Clock::now();
    if (now >= deadline ||
        (answer_in_time && deadline - now < kAfterwards * (now - start) + kMoment)) {
      return absl::DeadlineExceededError("the time was over before it was done");
    }
    if (context->IsCancelled()) return absl::CancelledError("cancelled before it was done");
    return absl::OkStatus();
  };
}

}  // namespace bfly::control
