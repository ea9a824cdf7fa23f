// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/given_paths.h"

#include "dataplane/programs/circuit_passes.h"

namespace bfly::dataplane {

const Pass* GivenPaths::NextPass() {
  if (started_ || paths_.empty()) return nullptr;
  started_ = true;
  return &pass_;
}

void GivenPaths::Return(const Message* burst, int count) {
  for (int i = 0; i < count; ++i) values_[burst[i].slot] = burst[i].value;
}

const Pass* SetGivenCircuits::NextPass() {
  next_ = 0;
  if (phase_ == Phase::kStart && !circuits_.release.empty()) {
    phase_ = Phase::kRelease;
    return &kReleasePass;
  }
  const bool install = phase_ < Phase::kInstall && !circuits_.install.empty();
  phase_ = install ? Phase::kInstall : Phase::kEnded;
  return install ? &kInstallPass : nullptr;
}

int SetGivenCircuits::Emit(Message* burst, int room) {
  return EmitAlong(phase_ == Phase::kRelease ? circuits_.release : circuits_.install, next_, burst,
                   room);
}

void SetGivenCircuits::Return(const Message* burst, int count) {
  if (routes_ == nullptr) return;
  for (int i = 0; i < count; ++i) {
    if (phase_ == Phase::kRelease) {
      routes_->Remove(burst[i].row);
    } else {
      routes_->Install(burst[i].row, burst[i].tag);
    }
  }
}

void SetGivenCircuits::PassReturned(const PassTimes& times) {
  if (times_.begun == 0) times_.begun = times.begun;
  times_.returned = times.returned;
}

}  // namespace bfly::dataplane
