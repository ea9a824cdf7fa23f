// SPDX-License-Identifier: Apache-2.0
// A block of rows on its way through the stages of a group, by the vectors of narrow_vectors.h.
#pragma once

#include "dataplane/virtual_clock/stage_block.h"

#if BFLY_HAS_NARROW_VECTORS

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/delay_sink.h"

namespace bfly::dataplane {

class NarrowBlock {
 public:
  // `wiring`: the wiring of each stage of the group.
  NarrowBlock(std::span<const BlockWiring> wiring, const StageWindow& window,
              BlockScratch& scratch);

  // Take the packets that come in: either the list that a source sends to each node, node after
  // node, or the two packed lists of each node, lists[from[node]] and the one behind it.
  void TakeSource(size_t node, PacketList list);
  void TakePacked(const PacketList* lists, const uint32_t* from);

  // Carries the packets through all stages. `blocks`: the block of each stage. `nodes`: the states
  // of the first stage's nodes, and behind them those of the next stages.
  void Run(std::span<StageBlock> blocks, NodeState* nodes);

  // Hands the packets that leave the last stage by `link` of the block to the sink.
  void Deliver(size_t link, DelaySink& sink) const;
  // Makes a packed list of these packets the boundary's list number `to`.
  void Pack(size_t link, Boundary& boundary, int worker, size_t to) const;

 private:
  const std::span<const BlockWiring> wiring_;
  const StageWindow& window_;
  BlockScratch& scratch_;
  NarrowScratch& narrow_;
  const int scale_;     // times are shifted left by this many bits
  size_t entered_ = 0;  // how many packets came from the source
};

}  // namespace bfly::dataplane
#endif
