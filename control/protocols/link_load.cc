// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/link_load.h"

#include <iterator>

namespace bfly::control {

LinkLoad::LinkLoad(const Network& network)
    : network_(&network), slots_(network), lines_(slots_.size() / LinkSlots::kLine) {}

void LinkLoad::Clear() {
  paths_ = 0;
  std::fill(lines_.begin(), lines_.end(), Line());
  above_.clear();
}

uint32_t LinkLoad::OfFull(uint64_t slot) const {
  const auto above = above_.find(slot);
  return kFull + (above == above_.end() ? 0 : above->second);
}

void LinkLoad::RemoveFromFull(uint64_t slot) {
  const auto above = above_.find(slot);
  if (above == above_.end()) {
    Bytes()[slot / 2] -= static_cast<uint8_t>(1 << ShiftOf(slot));
  } else if (--above->second == 0) {
    above_.erase(above);
  }
}

std::vector<uint32_t> LinkLoad::stage_counts(int stage) const {
  std::vector<uint32_t> counts;
  counts.reserve(size_t{network_->rows()} * network_->ports());
  for (Row row = 0; row < network_->rows(); ++row) {
    for (int port = 0; port < network_->ports(); ++port) {
      counts.push_back(at(slots_.slot(stage, row, port)));
    }
  }
  return counts;
}

std::vector<uint32_t> LinkLoad::counts() const {
  std::vector<uint32_t> all;
  all.reserve(network_->link_count());
  for (int stage = 0; stage < network_->stages(); ++stage) {
    const std::vector<uint32_t> of_stage = stage_counts(stage);
    all.insert(all.end(), of_stage.begin(), of_stage.end());
  }
  return all;
}

std::vector<uint32_t> LinkLoad::StageCongestion() const {
  std::vector<uint32_t> most;
  for (int stage = 0; stage < network_->stages(); ++stage) {
    const std::vector<uint32_t> of_stage = stage_counts(stage);
    most.push_back(*std::max_element(of_stage.begin(), of_stage.end()));
  }
  return most;
}

uint32_t LinkLoad::Congestion() const {
  int most = 0;
  for (const Line& line : lines_) {
    for (const uint8_t pair : line.bytes) most = std::max({most, pair & kFull, pair >> 4});
  }
  uint32_t above = 0;
  for (const auto& [slot, circuits] : above_) above = std::max(above, circuits);
  return static_cast<uint32_t>(most) + above;
}

}  // namespace bfly::control
