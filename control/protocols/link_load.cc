// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/link_load.h"

#include <algorithm>
#include <array>
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
  std::vector<uint32_t> congestion;
  for (int stage = 0; stage < network_->stages(); ++stage) {
    uint32_t most = 0;
    for (Row row = 0; row < network_->rows(); ++row) {
      for (int port = 0; port < network_->ports(); ++port) {
        if (!network_->is_free({stage, row, port})) {
          most = std::max(most, at(slots_.slot(stage, row, port)));
        }
      }
    }
    congestion.push_back(most);
  }
  return congestion;
}

uint32_t LinkLoad::MaxOnCrossHops(Row row, Tag tag, int first, int last) const {
  uint32_t most = 0;
  for (int hop = first; hop < last; ++hop) {
    const LinkId link{network_->stage_of_hop(hop), row, PortOfHop(*network_, tag, hop)};
    if (!network_->is_free(link)) most = std::max(most, on(link));
    row = network_->next_row(link.stage, row, link.port);
  }
  return most;
}

void LinkLoad::CountLinks(uint64_t first, uint64_t end, std::map<uint32_t, uint64_t>& count) const {
  // Consecutive bytes are often alike. With one table the addition for a byte would wait for the
  // byte before.
  std::array<std::array<uint64_t, 256>, 4> pairs = {};
  constexpr uint64_t kBytes = LinkSlots::kLine / 2;
  static_assert(kBytes % pairs.size() == 0);
  const uint8_t* const bytes = Bytes();
  for (uint64_t at = first * kBytes; at < end * kBytes; at += pairs.size()) {
    for (size_t i = 0; i < pairs.size(); ++i) ++pairs[i][bytes[at + i]];
  }
  std::array<uint64_t, kFull + 1> slots = {};
  for (const auto& part : pairs) {
    for (size_t pair = 0; pair < part.size(); ++pair) {
      slots[pair & kFull] += part[pair];
      slots[pair >> 4] += part[pair];
    }
  }
  for (uint32_t k = 1; k < kFull; ++k) {
    if (slots[k] > 0) count[k] += slots[k];
  }
  if (slots[kFull] == 0) return;
  for (uint64_t slot = first * LinkSlots::kLine; slot < end * LinkSlots::kLine; ++slot) {
    if (const uint32_t circuits = at(slot); circuits >= kFull) ++count[circuits];
  }
}

LinkLoad::Loaded LinkLoad::LinksWith(uint64_t first, uint64_t end, uint32_t least) const {
  // By pair of slots: whether one of the two may have as many.
  std::array<bool, 256> may = {};
  for (uint32_t pair = 0; pair < may.size(); ++pair) {
    may[pair] = std::max(pair & kFull, pair >> 4) >= std::min<uint32_t>(least, kFull);
  }
  const uint8_t* const bytes = Bytes();
  Loaded loaded;
  constexpr uint64_t kBytes = LinkSlots::kLine / 2;
  for (uint64_t byte = first * kBytes; byte < end * kBytes; ++byte) {
    if (!may[bytes[byte]]) continue;
    for (const uint64_t slot : {2 * byte, 2 * byte + 1}) {
      const uint32_t circuits = at(slot);
      if (circuits < least) continue;
      loaded.links.push_back(slot);
      loaded.circuits.push_back(circuits);
    }
  }
  slots_.ToLinkIndexes(loaded.links);
  return loaded;
}

uint32_t LinkLoad::Congestion() const {
  if (network_->straight_is_free()) {
    const std::vector<uint32_t> of_stages = StageCongestion();
    return *std::max_element(of_stages.begin(), of_stages.end());
  }
  int most = 0;
  for (const Line& line : lines_) {
    for (const uint8_t pair : line.bytes) most = std::max({most, pair & kFull, pair >> 4});
  }
  uint32_t above = 0;
  for (const auto& [slot, circuits] : above_) above = std::max(above, circuits);
  return static_cast<uint32_t>(most) + above;
}

}  // namespace bfly::control
