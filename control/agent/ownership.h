// SPDX-License-Identifier: Apache-2.0
// Which controller a data plane belongs to. A controller claims it, says so again several times a
// second, and gives it up when it ends; one that fell silent loses it to the next that asks. The
// clock is monotonic and given from outside, so that tests need not wait.
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
  // A controller that was not heard for so long may be replaced.
  static constexpr std::chrono::seconds kPatience{10};

  explicit Ownership(Clock now) : now_(std::move(now)) {}

  // Makes `caller` the owner unless somebody else is.
  void Claim(const v1::AgentOwner& caller);
  // The owner was heard; callers that are not the owner change nothing.
  void Renew(const std::string& id);
  // Nothing if `id` is not the owner.
  void Release(const std::string& id);

  // FAILED_PRECONDITION, saying who the owner is, unless `id` is the owner or there is none. The
  // owner was heard by that.
  absl::Status Check(const std::string& id);
  // Without id: there is none.
  v1::AgentOwner owner() const;

 private:
  bool HeldLocked() const;

  const Clock now_;
  mutable std::mutex mutex_;  // guards what follows
  v1::AgentOwner owner_;
  std::chrono::steady_clock::time_point heard_;
};

}  // namespace bfly::control
