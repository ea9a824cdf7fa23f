// SPDX-License-Identifier: Apache-2.0
// The number of circuits on every link. All circuit protocols decide by it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "control/protocols/link_slots.h"
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
    uint8_t* const bytes = Bytes();
    slots_.ForEach(input, tag, 0, network_->hops(), [=, this](uint64_t slot) {
      uint8_t& pair = bytes[slot / 2];
      const int shift = ShiftOf(slot);
      if ((pair >> shift & kFull) == kFull) [[unlikely]] {
        ++above_[slot];
      } else {
        pair = static_cast<uint8_t>(pair + (1 << shift));
      }
    });
  }
  // The path must have been added.
  void Remove(Row input, Tag tag) {
    --paths_;
    uint8_t* const bytes = Bytes();
    slots_.ForEach(input, tag, 0, network_->hops(), [=, this](uint64_t slot) {
      uint8_t& pair = bytes[slot / 2];
      const int shift = ShiftOf(slot);
      if ((pair >> shift & kFull) == kFull) [[unlikely]] {
        RemoveFromFull(slot);
      } else {
        pair = static_cast<uint8_t>(pair - (1 << shift));
      }
    });
  }
  void Clear();
  size_t paths() const { return paths_; }

  uint32_t on(LinkId link) const { return at(slots_.slot(link.stage, link.row, link.port)); }
  uint32_t on_index(uint64_t link_index) const { return on(network_->link_at(link_index)); }
  // By link index: of all links, or of the links of one stage.
  std::vector<uint32_t> counts() const;
  std::vector<uint32_t> stage_counts(int stage) const;

  // Readers of all links of a large network go through lines of slots, which takes a tenth of the
  // time that links one by one take. They read the lines first..end-1 at a time.
  uint64_t lines() const { return lines_.size(); }
  // Adds to count[k], for every k > 0, how many links carry k circuits.
  void CountLinks(uint64_t first, uint64_t end, std::map<uint32_t, uint64_t>& count) const;
  // Returns the links that carry at least `least` circuits, which is above 0, in no order.
  struct Loaded {
    std::vector<uint64_t> links;     // by their index in the network
    std::vector<uint32_t> circuits;  // circuits[i] are on links[i]
  };
  Loaded LinksWith(uint64_t first, uint64_t end, uint32_t least) const;

  // The most circuits on one link of a path or, in the second form, of its hops first..last-1; the
  // path stands in `row` before hop `first`. Free links (Network::is_free) are left out.
  uint32_t MaxOnPath(Row input, Tag tag) const {
    return MaxOnHops(input, tag, 0, network_->hops());
  }
  uint32_t MaxOnHops(Row row, Tag tag, int first, int last) const {
    if (network_->straight_is_free()) [[unlikely]] {
      return MaxOnCrossHops(row, tag, first, last);
    }
    uint32_t most = 0;
    slots_.ForEach(row, tag, first, last, [&](uint64_t slot) { most = std::max(most, at(slot)); });
    return most;
  }
  // Congestion is the most circuits on one link that is not free, of the network or of each stage.
  // Computing it reads every link.
  uint32_t Congestion() const;
  std::vector<uint32_t> StageCongestion() const;

 private:
  static constexpr uint8_t kFull = 15;
  struct alignas(LinkSlots::kLine / 2) Line {
    uint8_t bytes[LinkSlots::kLine / 2] = {};
  };

  uint8_t* Bytes() { return reinterpret_cast<uint8_t*>(lines_.data()); }
  const uint8_t* Bytes() const { return reinterpret_cast<const uint8_t*>(lines_.data()); }
  static int ShiftOf(uint64_t slot) { return static_cast<int>(slot % 2 * 4); }
  uint32_t at(uint64_t slot) const {
    const uint8_t n = Bytes()[slot / 2] >> ShiftOf(slot) & kFull;
    return n == kFull ? OfFull(slot) : n;
  }
  uint32_t OfFull(uint64_t slot) const;
  uint32_t MaxOnCrossHops(Row row, Tag tag, int first, int last) const;
  void RemoveFromFull(uint64_t slot);

  const Network* network_;
  LinkSlots slots_;
  size_t paths_ = 0;
  // A slot holds up to kFull circuits, and few links ever carry more. The rest of such a link's
  // count is in above_; given paths and a disk that many users read can need it.
  std::vector<Line> lines_;
  std::unordered_map<uint64_t, uint32_t> above_;
};

}  // namespace bfly::control
