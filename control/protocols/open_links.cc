// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/open_links.h"

#include <algorithm>

namespace bfly::control {

OpenLinks::OpenLinks(const Network& network, const LinkLoad* standing, const FaultSet* faults)
    : network_(&network), open_(network.link_count(), 1) {
  for (int stage = 0; standing != nullptr && stage < network.stages(); ++stage) {
    const std::vector<uint32_t> circuits = standing->stage_counts(stage);
    const uint64_t first = network.link_index({stage, 0, 0});
    for (size_t link = 0; link < circuits.size(); ++link) {
      if (circuits[link] != 0) Close(first + link);
    }
  }
  if (faults == nullptr) return;
  for (const LinkId& link : faults->blocked_links()) Close(network.link_index(link));
}

int OpenLinks::CountOpen(int stage, Row row, int direction) const {
  const uint64_t first = first_link(stage, row, direction);
  int open = 0;
  for (int k = 0; k < network_->multiplicity(); ++k) open += open_[first + static_cast<size_t>(k)];
  return open;
}

Tag OpenLinks::TagOf(const std::vector<uint64_t>& links) const {
  const TagLayout& layout = network_->tag_layout();
  Tag tag = 0;
  for (const uint64_t link : links) {
    tag =
        tag << layout.field_bits | static_cast<Tag>(layout.field_of(network_->link_at(link).port));
  }
  return tag;
}

std::vector<std::vector<OpenLinks::Reached>> OpenLinks::Reach(Row input, Row output,
                                                              uint64_t& looks) const {
  std::vector<std::vector<Reached>> levels{{{.row = input}}};
  for (int stage = 0; stage < network_->stages(); ++stage) {
    std::vector<Reached> next;
    const int to = direction(output, stage);
    for (const Reached& node : levels.back()) {
      const uint64_t first = first_link(stage, node.row, to);
      for (uint64_t link = first; link < first + network_->multiplicity(); ++link) {
        if (is_open(link)) next.push_back({head(link), link});
      }
    }
    looks += levels.back().size() * static_cast<size_t>(network_->multiplicity());
    std::stable_sort(next.begin(), next.end(),
                     [](const Reached& a, const Reached& b) { return a.row < b.row; });
    next.erase(std::unique(next.begin(), next.end(),
                           [](const Reached& a, const Reached& b) { return a.row == b.row; }),
               next.end());
    if (next.empty()) break;
    levels.push_back(std::move(next));
  }
  return levels;
}

std::optional<std::vector<uint64_t>> OpenLinks::FindPath(Row input, Row output,
                                                         uint64_t& looks) const {
  const auto levels = Reach(input, output, looks);
  const auto stages = static_cast<size_t>(network_->stages());
  if (levels.size() <= stages) return std::nullopt;
  std::vector<uint64_t> links(stages);
  Row row = output;
  for (size_t level = stages; level > 0; --level) {
    const auto node =
        std::lower_bound(levels[level].begin(), levels[level].end(), row,
                         [](const Reached& reached, Row wanted) { return reached.row < wanted; });
    links[level - 1] = node->by;
    row = network_->link_at(node->by).row;
  }
  return links;
}

uint64_t OpenLinks::CountPaths(Row input, Row output, uint64_t limit, uint64_t& looks) const {
  using Ways = std::pair<Row, uint64_t>;  // a row and the number of open paths to it
  std::vector<Ways> nodes{{input, 1}};
  for (int stage = 0; stage < network_->stages() && !nodes.empty(); ++stage) {
    std::vector<Ways> next;
    const int to = direction(output, stage);
    for (const auto& [row, ways] : nodes) {
      const uint64_t first = first_link(stage, row, to);
      for (uint64_t link = first; link < first + network_->multiplicity(); ++link) {
        if (is_open(link)) next.push_back({head(link), ways});
      }
    }
    looks += nodes.size() * static_cast<size_t>(network_->multiplicity());
    std::sort(next.begin(), next.end());
    nodes.clear();
    for (const auto& [row, ways] : next) {
      if (nodes.empty() || nodes.back().first != row) nodes.push_back({row, 0});
      nodes.back().second = std::min(limit, nodes.back().second + ways);
    }
  }
  return nodes.empty() ? 0 : nodes.front().second;
}

}  // namespace bfly::control
