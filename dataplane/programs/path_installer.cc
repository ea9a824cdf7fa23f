// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/path_installer.h"

#include <algorithm>

namespace bfly::dataplane {

void PathInstaller::Acknowledge(const Probe* burst, int count) {
  for (int i = 0; i < count; ++i) {
    const Probe& probe = burst[i];
    if (probe.full != 0 || probe.down != 0) {
      // Stages and rings keep the order, so the first one refused is that of the first request.
      if (!refused_.has_value()) refused_ = probe;
      continue;
    }
    routes_.Install(probe.row, probe.tag);
    if (limited_) installed_.push_back({probe.row, probe.tag});
  }
}

int PathInstaller::EmitReleases(Probe* burst, int room) {
  const int count =
      static_cast<int>(std::min(installed_.size() - next_, static_cast<size_t>(room)));
  for (int i = 0; i < count; ++i, ++next_) {
    burst[i] = {
        .tag = installed_[next_].tag, .row = installed_[next_].input, .kind = ProbeKind::kRelease};
  }
  return count;
}

void PathInstaller::AcknowledgeReleases(const Probe* burst, int count) {
  for (int i = 0; i < count; ++i) routes_.Remove(burst[i].row);
}

std::optional<InBandRefusal> PathInstaller::Refusal(const Network& network) const {
  if (!refused_.has_value()) return std::nullopt;
  const bool down = refused_->down != 0;
  const int stage = (down ? refused_->down : refused_->full) - 1;
  return InBandRefusal{.request = refused_->slot,
                       .link = {stage, WalkTag(network, refused_->row, refused_->tag)[stage],
                                PortOfHop(refused_->tag, stage, network.hops())},
                       .circuits = down ? 0 : refused_->most,
                       .down = down};
}

}  // namespace bfly::dataplane
