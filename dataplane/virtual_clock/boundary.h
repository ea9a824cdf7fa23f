// SPDX-License-Identifier: Apache-2.0
// What one stage hands to the next under the virtual clock: for every link the packets that left it
// in one window of time, in order of departure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "topologies/tag.h"

namespace bfly::dataplane {

// Virtual time in ticks. A unit of service is a whole number of ticks (VirtualConfig), so that sums
// are exact and slots fall on ticks.
using Ticks = uint64_t;
inline constexpr Ticks kNever = std::numeric_limits<Ticks>::max();

struct VirtualPacket {
  Ticks time;   // of arrival at the node that handles it next
  Ticks birth;  // of generation
  WireTag tag;
};
static_assert(sizeof(VirtualPacket) == 24);

// Lists of packets, one a link, in one arena that is reused from window to window. Every list ends
// with a packet whose time is kNever, so that merging two lists needs no bounds.
class Boundary {
 public:
  explicit Boundary(size_t links) : lists_(links) {}

  const VirtualPacket* begin(size_t link) const { return arena_.get() + lists_[link].first; }
  uint32_t count(size_t link) const { return lists_[link].count; }
  size_t links() const { return lists_.size(); }

  void Clear() { used_ = 0; }

  // `packets` consecutive places. Earlier pointers are invalid after it.
  VirtualPacket* Reserve(size_t packets) {
    if (used_ + packets > capacity_) Grow(used_ + packets);
    VirtualPacket* places = arena_.get() + used_;
    used_ += packets;
    return places;
  }

  // Makes [first, end) the list of `link`; *end must be a reserved place and takes the end mark.
  void Set(size_t link, const VirtualPacket* first, VirtualPacket* end) {
    end->time = kNever;
    lists_[link] = {static_cast<size_t>(first - arena_.get()), static_cast<uint32_t>(end - first)};
  }

  size_t bytes() const { return capacity_ * sizeof(VirtualPacket) + lists_.size() * sizeof(List); }

 private:
  struct List {
    size_t first = 0;
    uint32_t count = 0;
  };

  void Grow(size_t wanted);

  std::vector<List> lists_;
  std::unique_ptr<VirtualPacket[]> arena_;
  size_t used_ = 0;
  size_t capacity_ = 0;
};

}  // namespace bfly::dataplane
