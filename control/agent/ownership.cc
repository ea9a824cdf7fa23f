// SPDX-License-Identifier: Apache-2.0
#include "control/agent/ownership.h"

#include "absl/strings/str_cat.h"

namespace bfly::control {

bool Ownership::HeldLocked() const { return !owner_.id().empty() && now_() - heard_ < kPatience; }

void Ownership::Claim(const v1::AgentOwner& caller) {
  const std::lock_guard lock(mutex_);
  if (caller.id().empty() || (HeldLocked() && caller.id() != owner_.id())) return;
  owner_ = caller;
  heard_ = now_();
}

void Ownership::Renew(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!id.empty() && id == owner_.id()) heard_ = now_();
}

void Ownership::Release(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (id == owner_.id()) owner_.Clear();
}

absl::Status Ownership::Check(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (!owner_.id().empty() && id == owner_.id()) {
    heard_ = now_();
    return absl::OkStatus();
  }
  if (!HeldLocked()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "belongs to another controller, ", owner_.name(),
      "; end that controller, or unload its fabric. A killed controller loses it after ",
      kPatience.count(), " s"));
}

v1::AgentOwner Ownership::owner() const {
  const std::lock_guard lock(mutex_);
  return HeldLocked() ? owner_ : v1::AgentOwner();
}

}  // namespace bfly::control
