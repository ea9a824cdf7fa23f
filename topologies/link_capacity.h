// SPDX-License-Identifier: Apache-2.0
// How many circuits each link may carry.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly {

struct LinkCapacity {
  static constexpr uint32_t kUnlimited = 0;
  uint32_t every_link = kUnlimited;
  std::unordered_map<uint64_t, uint32_t> of_link;  // by link index: the exceptions from every_link

  bool limited() const { return every_link != kUnlimited || !of_link.empty(); }
  // kUnlimited means any number of circuits.
  uint32_t at(uint64_t link_index) const {
    const auto own = of_link.find(link_index);
    return own == of_link.end() ? every_link : own->second;
  }
};

// Returns the first link of the path that cannot carry one more circuit, or nothing if every link
// can. A free link (Network::is_free) can carry any number.
template <typename Load>
std::optional<uint64_t> FirstFullLink(const LinkCapacity& capacity, const Load& load,
                                      const Network& network, Row input, Tag tag) {
  std::optional<uint64_t> full;
  if (!capacity.limited()) return full;
  ForEachLink(network, input, tag, [&](uint64_t link) {
    const uint32_t most = capacity.at(link);
    if (full || most == LinkCapacity::kUnlimited || load.on_index(link) < most) return;
    if (!network.is_free(network.link_at(link))) full = link;
  });
  return full;
}

}  // namespace bfly
