// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/link_load.h"

#include <algorithm>

namespace bfly::control {

LinkLoad::LinkLoad(const Network& network) : network_(&network), counts_(network.link_count()) {}

void LinkLoad::Clear() {
  paths_ = 0;
  std::fill(counts_.begin(), counts_.end(), 0u);
}

uint32_t LinkLoad::MaxOnPath(Row input, Tag tag) const {
  uint32_t most = 0;
  ForEachLink(*network_, input, tag, [&](uint64_t link) { most = std::max(most, counts_[link]); });
  return most;
}

uint32_t LinkLoad::Congestion() const { return *std::max_element(counts_.begin(), counts_.end()); }

std::vector<uint32_t> LinkLoad::StageCongestion() const {
  const size_t links = counts_.size() / network_->stages();
  std::vector<uint32_t> most;
  for (auto stage = counts_.begin(); stage != counts_.end(); stage += links) {
    most.push_back(*std::max_element(stage, stage + links));
  }
  return most;
}

}  // namespace bfly::control
