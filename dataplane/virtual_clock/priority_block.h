// SPDX-License-Identifier: Apache-2.0
// One stage, restricted to a block of rows, whose links send the most urgent packet that waits and
// interrupt no packet. StageBlock does the same for FIFO links.
//
// Packets of one class leave in the order in which they came, so a link has a line for each class.
// The link next sends a packet at time S: when it is free or, if no packet waits then, when the
// next packet comes. It sends the first packet of the most urgent class that has a packet by S. No
// packet that comes after S changes that, so a packet that begins in a window and leaves behind it
// may wait for the next.
#pragma once

#include <vector>

#include "dataplane/virtual_clock/line_store.h"
#include "dataplane/virtual_clock/served_stage.h"
#include "dataplane/virtual_clock/stage_block.h"

namespace bfly::dataplane {

class PriorityBlock {
 public:
  // A link has 2^kMostClassBits classes at most.
  static constexpr int kMostClassBits = 3;

  PriorityBlock(size_t nodes, int class_bits)
      : links_(2 * nodes), lines_((2 * nodes) << class_bits) {}

  // As SharingBlock::RunWindow.
  void RunWindow(const LinkService& service, int crossed, const BlockWiring& wiring,
                 const NodeLists& lists, const StageWindow& window, PacketArena& places,
                 LineScratch<VirtualPacket>& scratch, DelayHistogram* histogram);

  const ServedCount& count() const { return count_; }
  uint64_t queued() const { return lines_.queued(); }
  uint64_t packets(size_t link) const { return links_[link].packets; }
  size_t bytes() const { return sizeof(*this) + links_.capacity() * sizeof(Link) + lines_.bytes(); }

 private:
  struct Link {
    Ticks free = 0;        // when the link has sent all packets that have left it
    uint64_t packets = 0;  // packets that left
  };

  template <int kClassBits>
  void Run(const LinkService& service, int crossed, const BlockWiring& wiring,
           const NodeLists& lists, const StageWindow& window, VirtualPacket* place,
           VirtualPacket* room, DelayHistogram* histogram);

  std::vector<Link> links_;  // 2 * node + port
  // A line for each link and class: (2 * node + port) << class_bits | class.
  LineStore<VirtualPacket> lines_;
  ServedCount count_;
};

}  // namespace bfly::dataplane
