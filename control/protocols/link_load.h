// SPDX-License-Identifier: Apache-2.0
// How many circuits every link carries: the state all circuit protocols decide by.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::control {

// A path that crosses a link twice (a wrapped butterfly of two passes) counts twice there.
class LinkLoad {
 public:
  // `network` must outlive the object.
  explicit LinkLoad(const Network& network);

  const Network& network() const { return *network_; }

  void Add(Row input, Tag tag) {
    ++paths_;
    ForEachLink(*network_, input, tag, [this](uint64_t link) { ++counts_[link]; });
  }
  // The path must have been added before.
  void Remove(Row input, Tag tag) {
    --paths_;
    ForEachLink(*network_, input, tag, [this](uint64_t link) { --counts_[link]; });
  }
  void Clear();
  size_t paths() const { return paths_; }

  uint32_t on(LinkId link) const { return counts_[network_->link_index(link)]; }
  uint32_t on_index(uint64_t link_index) const { return counts_[link_index]; }
  // By link index.
  const std::vector<uint32_t>& counts() const { return counts_; }

  // Most circuits on one link of a path.
  uint32_t MaxOnPath(Row input, Tag tag) const;
  // Congestion: most circuits on one link, of the network and of each stage. Reads every link.
  uint32_t Congestion() const;
  std::vector<uint32_t> StageCongestion() const;

 private:
  const Network* network_;
  size_t paths_ = 0;
  std::vector<uint32_t> counts_;
};

}  // namespace bfly::control
