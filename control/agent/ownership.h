// SPDX-License-Identifier: Apache-2.0
// Which controller owns a data plane. A controller claims the data plane, confirms its claim
// several times a second, and releases the data plane when it ends. A controller that fell silent
// loses the data plane to the next controller that asks. The caller gives a monotonic clock, so
// that tests need not wait.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "bfly/v1/agent.pb.h"

namespace bfly::control {

// Metadata of calls to an agent: the caller's AgentOwner.id.
inline constexpr char kOwnerMetadata[] = "bfly-owner";

inline std::chrono::steady_clock::time_point SteadyNow() {
  return std::chrono::steady_clock::now();
}

// Thread-safe.
class Ownership {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  // Another controller may replace an owner that was not heard for this long.
  static constexpr std::chrono::seconds kPatience{10};

  explicit Ownership(Clock now) : now_(std::move(now)) {}

  // Makes `caller` the owner unless there is another owner.
  void Claim(const v1::AgentOwner& caller);
  // Notes that the owner was heard. A call with the id of another controller changes nothing.
  void Renew(const std::string& id);
  // Does nothing if `id` is not the owner.
  void Release(const std::string& id);

  // FAILED_PRECONDITION: the owner is a controller other than `id`; the message names the owner. If
  // `id` is the owner, notes that the owner was heard.
  absl::Status Check(const std::string& id);
  // Returns the owner; the owner's id is empty if no controller owns the process.
  v1::AgentOwner owner() const;

 private:
  bool HeldLocked() const;

  const Clock now_;
  mutable std::mutex mutex_;  // guards the members below
  v1::AgentOwner owner_;
  std::chrono::steady_clock::time_point heard_;
};

}  // namespace bfly::control
