// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/link_slots.h"

#include <bit>

namespace bfly::control {
int LinkSlots::StagesOfGroup(const Network& network, int first, int end) {
  if (!network.wiring(first).table.empty()) return 1;
  int stages = 1;
  while (stages < kMostStages && first + stages < end &&
         network.wiring(first + stages).table.empty() &&
         network.wiring(first + stages).mask == network.wiring(first).mask >> stages) {
    ++stages;
  }
  return stages;
}

LinkSlots::LinkSlots(const Network& network) : network_(&network) {
  if (network.multiplicity() > 1) {
    size_ = (network.link_count() + kLine - 1) / kLine * kLine;
    return;
  }
  const int d = network.dimension();
  // The collision links of BB_n begin and end in the middle of a copy. A group that reached across
  // the middle would be read in part only.
  const auto end_of_half = [&](int stage) {
    const int within = stage % d;
    return stage - within + (within < d / 2 ? d / 2 : d);
  };
  for (int first = 0; first < network.stages();) {
    Group g;
    g.base = size_;
    g.first_hop = first;
    g.stages = StagesOfGroup(network, first, std::min(end_of_half(first), network.stages()));
    g.places = (Row{1} << g.stages) - 1;
    g.shift = d - network.position_of_stage(first + g.stages - 1);
    g.tag_shift = network.hops() - first - g.stages;
    g.log_size = std::bit_width(static_cast<unsigned>(g.stages << (g.stages + 1)) - 1);
    g.wired_by_table = !network.wiring(first).table.empty();
    size_ += (uint64_t{network.rows()} >> g.stages) << g.log_size;
    size_ = (size_ + kLine - 1) / kLine * kLine;
    groups_.insert(groups_.end(), static_cast<size_t>(g.stages), g);
    first += g.stages;
  }
  // A packet goes round a wrapped butterfly of two passes twice, over the same links.
  for (int hop = network.stages(); hop < network.hops(); ++hop) {
    Group g = groups_[hop - network.stages()];
    g.first_hop += network.stages();
    g.tag_shift -= network.stages();
    groups_.push_back(g);
  }
}

void LinkSlots::ToLinkIndexes(std::vector<uint64_t>& slots) const {
  if (groups_.empty()) return;  // the slots are the indexes
  const auto ports = static_cast<uint64_t>(network_->ports());
  auto next = slots.begin();
  for (int first = 0; first < network_->stages() && next != slots.end();) {
    const Group g = groups_[first];
    const Row below = (Row{1} << g.shift) - 1;
    const uint64_t size = uint64_t{1} << g.log_size;
    const uint64_t end = g.base + (uint64_t{network_->rows() >> g.stages} << g.log_size);
    for (; next != slots.end() && *next < end; ++next) {
      const uint64_t offset = *next - g.base;
      const Row others = static_cast<Row>(offset >> g.log_size);
      const auto within = static_cast<Row>(offset & (size - 1));
      const int set = static_cast<int>(within >> (g.stages + 1));
      const int kept = g.stages - set;
      const Row ways = (within >> kept) & ((Row{2} << set) - 1);  // positions set, then the port
      const Row place = (ways >> 1) << kept | (within & ((Row{1} << kept) - 1));
      const Row row = (others & ~below) << g.stages | place << g.shift | (others & below);
      *next = (static_cast<uint64_t>(first + set) * network_->rows() + row) * ports + (ways & 1);
    }
    first += g.stages;
  }
}

}  // namespace bfly::control
