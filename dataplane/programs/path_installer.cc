// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/path_installer.h"

#include <algorithm>

namespace bfly::dataplane {

void PathInstaller::Acknowledge(const Message* burst, int count) {
  for (int i = 0; i < count; ++i) {
    const Message& m = burst[i];
    if (m.notes[kFullNote] != 0 || m.notes[kDownNote] != 0) {
      // Stages and rings keep the order, so the first message refused belongs to the first request.
      if (!refused_.has_value()) refused_ = m;
      continue;
    }
    routes_.Install(m.row, m.tag);
    if (limited_) installed_.push_back({m.row, m.tag});
  }
}

void PathInstaller::AcknowledgeReleases(const Message* burst, int count) {
  for (int i = 0; i < count; ++i) routes_.Remove(burst[i].row);
}

std::optional<InBandRefusal> PathInstaller::Refusal(const Network& network) const {
  if (!refused_.has_value()) return std::nullopt;
  const bool down = refused_->notes[kDownNote] != 0;
  // A message that came over a trunk may have any content.
  const int stage = std::min(refused_->notes[down ? kDownNote : kFullNote] - 1, network.hops() - 1);
  return InBandRefusal{.request = refused_->slot,
                       .link = {stage, WalkTag(network, refused_->row, refused_->tag)[stage],
                                PortOfHop(network, refused_->tag, stage)},
                       .circuits = down ? 0 : refused_->value,
                       .down = down};
}

}  // namespace bfly::dataplane
