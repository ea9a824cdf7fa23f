// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/model_steps.h"

#include <algorithm>
#include <numeric>

namespace bfly::dataplane {
namespace {

// One direction of a pass, stage by stage.
class Pass {
 public:
  Pass(size_t paths, size_t links)
      : link(paths), at_(paths), order_(paths), sorted_(paths), free_(links) {
    std::iota(order_.begin(), order_.end(), 0u);
  }

  // Every packet crosses its link in `link`.
  void Cross() {
    std::fill(free_.begin(), free_.end(), 0u);
    for (const uint32_t i : order_) {
      uint32_t& free = free_[link[i]];
      free = std::max(free, at_[i]) + 1;
      at_[i] = free;
    }
    SortByTime();
  }

  uint32_t last() const { return at_.empty() ? 0 : *std::max_element(at_.begin(), at_.end()); }

  std::vector<uint32_t> link;  // by path: within the stage

 private:
  // Counting sort: packets of the same step stay in the order of the paths.
  void SortByTime() {
    first_.assign(last() + 2, 0);
    for (const uint32_t time : at_) ++first_[time + 1];
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    for (uint32_t i = 0; i < at_.size(); ++i) sorted_[first_[at_[i]]++] = i;
    order_.swap(sorted_);
  }

  std::vector<uint32_t> at_;     // by path: the step it reached its node in
  std::vector<uint32_t> order_;  // of arrival
  std::vector<uint32_t> sorted_;
  std::vector<uint32_t> first_;
  std::vector<uint32_t> free_;  // by link: the step of its last departure
};

}  // namespace

PassSteps CountSteps(const Network& network, const std::vector<ModelPath>& paths) {
  const int hops = network.hops();
  const size_t links = size_t{network.rows()} * static_cast<size_t>(network.ports());
  std::vector<Row> row(paths.size());
  std::vector<std::vector<uint32_t>> link(hops, std::vector<uint32_t>(paths.size()));
  for (size_t i = 0; i < paths.size(); ++i) row[i] = paths[i].input;
  for (int hop = 0; hop < hops; ++hop) {
    for (size_t i = 0; i < paths.size(); ++i) {
      const int port = PortOfHop(paths[i].tag, hop, hops);
      link[hop][i] = row[i] * 2 + static_cast<uint32_t>(port);
      row[i] = network.next_row(network.stage_of_hop(hop), row[i], port);
    }
  }
  Pass forward(paths.size(), links);
  for (int hop = 0; hop < hops; ++hop) {
    forward.link = link[hop];
    forward.Cross();
  }
  Pass backward(paths.size(), links);
  for (int hop = hops; hop-- > 0;) {
    backward.link = link[hop];
    backward.Cross();
  }
  return {.forward = forward.last(), .backward = backward.last()};
}

}  // namespace bfly::dataplane
