// SPDX-License-Identifier: Apache-2.0
// One stage, restricted to a block of rows, whose links share their rate (SharingLane). StageBlock
// does the same for FIFO links.
#pragma once

#include <vector>

#include "dataplane/virtual_clock/line_store.h"
#include "dataplane/virtual_clock/served_stage.h"
#include "dataplane/virtual_clock/sharing_lane.h"
#include "dataplane/virtual_clock/stage_block.h"

namespace bfly::dataplane {

class SharingBlock {
 public:
  explicit SharingBlock(size_t nodes) : links_(2 * nodes), lines_(2 * nodes) {}

  // Takes the packets of the lists, all of which arrive before the window's end, and makes lists of
  // the packets that leave in the window. Windows must come in order. `crossed`: how many links a
  // packet has crossed behind the stage. Measured delays also go to `histogram`, unless it is null.
  void RunWindow(const LinkService& service, int crossed, const BlockWiring& wiring,
                 const NodeLists& lists, const StageWindow& window, PacketArena& places,
                 LineScratch<Sharer>& scratch, DelayHistogram* histogram);

  const ServedCount& count() const { return count_; }
  uint64_t queued() const { return lines_.queued(); }
  uint64_t packets(size_t link) const { return links_[link].packets; }
  size_t bytes() const {
    return sizeof(*this) + links_.capacity() * sizeof(SharingLink) + lines_.bytes();
  }

 private:
  std::vector<SharingLink> links_;  // 2 * node + port
  LineStore<Sharer> lines_;         // one for each link
  ServedCount count_;
};

}  // namespace bfly::dataplane
