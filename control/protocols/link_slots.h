// SPDX-License-Identifier: Apache-2.0
// Where the four bits that count each link stand. The counts of consecutive links of a path stand
// side by side, so one wait for memory serves four links.
//
// Up to four consecutive stages that set neighbouring positions from left to right are a group. The
// paths that agree on all other positions have its 4 * 32 links to themselves, and these fill one
// cache line. So the 32 links of a path of BB_65536 are in 8 lines.
//
// If a direction has several ports, the slots stand in the order of the links' indexes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::control {

class LinkSlots {
 public:
  // `network` must outlive the object.
  explicit LinkSlots(const Network& network);

  static constexpr size_t kLine = 128;  // slots in a cache line; slot 0 begins a line
  // Slots are 0 .. size() - 1, a multiple of kLine. Some belong to no link.
  uint64_t size() const { return size_; }

  uint64_t slot(int stage, Row row, int port) const {
    if (groups_.empty()) return network_->link_index({stage, row, port});
    const Group& g = groups_[stage];
    const Row place = row >> g.shift;
    const int kept = g.stages - (stage - g.first_hop);  // positions not set yet at this stage
    const Row ports = (place & g.places) >> kept << 1 | static_cast<Row>(port);
    return Base(g, row) + Within(g.stages, stage - g.first_hop, ports, place);
  }

  // Replaces each slot by the index of its link. The slots ascend, and each belongs to a link.
  void ToLinkIndexes(std::vector<uint64_t>& slots) const;

  // Calls visit(slot) for the links of hops first .. last - 1 of the path that `tag` describes, in
  // order; `row` is where the path stands before hop `first`.
  template <typename Visit>
  void ForEach(Row row, Tag tag, int first, int last, Visit&& visit) const {
    const Group* const groups = groups_.data();
    if (groups_.empty()) return ForEachByIndex(row, tag, first, last, visit);
    for (int hop = first; hop < last;) {
      const Group g = groups[hop];  // a copy, so that the compiler knows that `visit` does not
                                    // change it
      const uint64_t base = Base(g, row);
      const Row place = row >> g.shift;
      const Row next = static_cast<Row>(tag >> g.tag_shift) & g.places;
      const int end = g.first_hop + g.stages;
      if (hop != g.first_hop || end > last) {
        for (; hop < std::min(end, last); ++hop) {
          visit(base + Within(g.stages, hop - g.first_hop, next >> (end - 1 - hop), place));
        }
      } else if (g.stages == 4) {
        VisitGroup<4>(base, next, place, visit);
      } else if (g.stages == 3) {
        VisitGroup<3>(base, next, place, visit);
      } else if (g.stages == 2) {
        VisitGroup<2>(base, next, place, visit);
      } else {
        VisitGroup<1>(base, next, place, visit);
      }
      row = g.wired_by_table ? network_->next_row(network_->stage_of_hop(g.first_hop), row,
                                                  static_cast<int>(next))
                             : (row & ~(g.places << g.shift)) | next << g.shift;
      hop = end;
    }
  }

 private:
  static constexpr int kMostStages = 4;

  struct Group {
    uint64_t base = 0;
    Row places = 0;  // 2^stages - 1
    int first_hop = 0;
    int stages = 0;
    int shift = 0;      // of the group's positions in a row address
    int tag_shift = 0;  // of the group's positions in a tag
    int log_size = 0;   // log2 of the slots that paths which agree on the other positions share
    bool wired_by_table = false;
  };

  template <typename Visit>
  void ForEachByIndex(Row row, Tag tag, int first, int last, Visit& visit) const {
    for (int hop = first; hop < last; ++hop) {
      const int stage = network_->stage_of_hop(hop);
      const int port = PortOfHop(*network_, tag, hop);
      visit(network_->link_index({stage, row, port}));
      row = network_->next_row(stage, row, port);
    }
  }
  template <int kStages, typename Visit>
  static void VisitGroup(uint64_t base, Row next, Row place, Visit& visit) {
    for (int set = 0; set < kStages; ++set) {
      visit(base + Within(kStages, set, next >> (kStages - 1 - set), place));
    }
  }
  // Returns how many stages from `first` on, before `end`, can form one group.
  static int StagesOfGroup(const Network& network, int first, int end);
  static uint64_t Base(const Group& g, Row row) {
    const Row below = (Row{1} << g.shift) - 1;
    const uint64_t others = (row >> g.stages & ~below) | (row & below);
    return g.base + (others << g.log_size);
  }
  // A link of stage `set` of a group is identified by the positions that the path has set so far
  // (the link's port is the last of them) and by the positions that still have the path's old bits.
  static uint64_t Within(int stages, int set, Row ports, Row place) {
    const int kept = stages - set;
    const Row still = (Row{1} << kept) - 1;
    return (static_cast<uint64_t>(set) << (stages + 1)) + (ports << kept | (place & still));
  }

  const Network* network_;
  std::vector<Group> groups_;  // by hop; empty if a direction has several ports
  uint64_t size_ = 0;
};

}  // namespace bfly::control
