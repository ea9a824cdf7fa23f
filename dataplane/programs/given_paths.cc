// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/given_paths.h"

#include <algorithm>

namespace bfly::dataplane {

bool OnePass::NextPass() {
  if (started_ || probes_.empty()) return false;
  started_ = true;
  return true;
}

int OnePass::Emit(Probe* burst, int room) {
  const int count = static_cast<int>(std::min(probes_.size() - next_, static_cast<size_t>(room)));
  for (int i = 0; i < count; ++i, ++next_) {
    const PassProbe& probe = probes_[next_];
    burst[i] = {.tag = probe.tag,
                .row = probe.input,
                .slot = static_cast<uint32_t>(next_),
                .kind = probe.kind};
  }
  return count;
}

void OnePass::Return(const Probe* burst, int count) {
  for (int i = 0; i < count; ++i) {
    most_[burst[i].slot] = burst[i].most;
    if (routes_ == nullptr) continue;
    if (burst[i].kind == ProbeKind::kInstall) routes_->Install(burst[i].row, burst[i].tag);
    if (burst[i].kind == ProbeKind::kRelease) routes_->Remove(burst[i].row);
  }
}

}  // namespace bfly::dataplane
