// SPDX-License-Identifier: Apache-2.0
// Until when a call may wait for locks and for data planes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bfly::control {

using Deadline = std::chrono::steady_clock::time_point;
inline constexpr Deadline kNoDeadline = Deadline::max();

// How long one data plane may take to put back what a failed call changed, once the time of that
// call is over. After that the controller leaves the data plane to the thread that watches it.
inline constexpr std::chrono::milliseconds kUndoTime{200};

inline bool IsOver(Deadline deadline) {
  // gRPC counts in milliseconds and may give a call up that much earlier.
  return deadline - std::chrono::steady_clock::now() < std::chrono::milliseconds(1);
}

// Until when the first of `left` data planes may take, so that there is time for the others.
inline Deadline ShareOf(Deadline deadline, size_t left) {
  const Deadline now = std::chrono::steady_clock::now();
  return now +
         std::max(deadline - now, Deadline::duration::zero()) / static_cast<Deadline::rep>(left);
}

// Until when a data plane may take to put back what a call with this deadline changed.
inline Deadline UndoDeadline(Deadline deadline) {
  return std::max(deadline, std::chrono::steady_clock::now() + kUndoTime);
}

// DEADLINE_EXCEEDED: the time of a call is over before it has changed anything.
inline absl::Status CheckTime(Deadline deadline) {
  if (!IsOver(deadline)) return absl::OkStatus();
  return absl::DeadlineExceededError(
      "the deadline passed before the change was begun; nothing was changed");
}

// How long a data plane may take to answer. DEADLINE_EXCEEDED: nothing of the time is left.
inline absl::StatusOr<Deadline::duration> TimeLeft(Deadline deadline) {
  const Deadline::duration left = deadline - Deadline::clock::now();
  if (left > Deadline::duration::zero()) return left;
  return absl::DeadlineExceededError("the deadline passed before the data plane was asked");
}

}  // namespace bfly::control
