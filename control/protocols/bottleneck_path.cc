// SPDX-License-Identifier: Apache-2.0
#include "control/protocols/bottleneck_path.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

namespace bfly::control {
namespace {

constexpr uint32_t kBlocked = ~0u;

// Looks for the first path over links that carry at most some number of circuits.
class Search {
 public:
  Search(const LinkLoad& load, const ProtocolOptions& options, Row output)
      : network_(load.network()),
        load_(load),
        options_(options),
        greedy_(GreedyTag(network_, 0, output)),
        either_way_(network_.hops() - network_.dimension()) {}

  // The tag of the first path from `input` whose links carry at most `most` circuits.
  std::optional<Tag> PathUpTo(uint32_t most, Row input) {
    most_ = most;
    next_most_ = kBlocked;
    dead_ends_.clear();
    Tag tag = 0;
    if (!Extend(0, input, tag)) return std::nullopt;
    return tag;
  }
  // The fewest circuits on a link that the last search left out; kBlocked if there was none.
  uint32_t next_most() const { return next_most_; }

 private:
  bool Extend(int hop, Row row, Tag& tag) {
    const TagLayout& layout = network_.tag_layout();
    if (hop == layout.hops) return true;
    const uint64_t node = uint64_t{network_.rows()} * static_cast<uint64_t>(hop) + row;
    if (dead_ends_.count(node) != 0) return false;
    const int stage = network_.stage_of_hop(hop);
    const bool free = hop < either_way_;
    const int first = free ? 0 : layout.port(greedy_, hop);
    const int end = free ? network_.ports() : first + network_.multiplicity();
    for (int port = first; port < end; ++port) {
      const uint32_t circuits = CircuitsOn({stage, row, port});
      if (circuits > most_) {
        next_most_ = std::min(next_most_, circuits);
        continue;
      }
      const Tag before = tag;
      tag = tag << layout.field_bits | static_cast<Tag>(layout.field_of(port));
      if (Extend(hop + 1, network_.next_row(stage, row, port), tag)) return true;
      tag = before;
    }
    dead_ends_.insert(node);
    return false;
  }

  uint32_t CircuitsOn(LinkId link) const {
    return options_.MayCross(load_, link) ? load_.on(link) : kBlocked;
  }

  const Network& network_;
  const LinkLoad& load_;
  const ProtocolOptions& options_;
  const Tag greedy_;
  const int either_way_;  // the first hops, whose direction does not depend on the output
  uint32_t most_ = 0;
  uint32_t next_most_ = kBlocked;
  std::unordered_set<uint64_t> dead_ends_;  // nodes without a path to the output, by hop and row
};

}  // namespace

CircuitPath BottleneckPath::Choose(const LinkLoad& load, Row input, Row output) const {
  Search search(load, options_, output);
  for (uint32_t most = 0; most != kBlocked; most = search.next_most()) {
    if (const auto tag = search.PathUpTo(most, input); tag.has_value()) {
      return {input, output, *tag, PathChoice::kLeastLoaded};
    }
  }
  return {input, output, GreedyTag(load.network(), input, output), PathChoice::kLeastLoaded};
}

}  // namespace bfly::control
