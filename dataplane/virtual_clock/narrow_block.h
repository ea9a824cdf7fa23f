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
  // wiring: of each stage of the group.
  NarrowBlock(std::span<const BlockWiring> wiring, const StageWindow& window,
              BlockScratch& scratch);

  // What comes in: what a source sends to each node, one after the other, or the two packed lists
  // of each node, at lists[from[node]] and behind it.
  void TakeSource(size_t node, PacketList list);
  void TakePacked(const PacketList* lists, const uint32_t* from);

  // Carries the packets through all stages. blocks: of each stage; nodes: states of the first
  // stage's nodes, with those of the next stage behind them.
  void Run(std::span<StageBlock> blocks, NodeState* nodes);

  // What leaves the last stage by `link` of the block.
  void Deliver(size_t link, DelaySink& sink) const;
  // As the boundary's list number `to`, packed.
  void Pack(size_t link, Boundary& boundary, int worker, size_t to) const;

 private:
  const std::span<const BlockWiring> wiring_;
  const StageWindow& window_;
  BlockScratch& scratch_;
  NarrowScratch& narrow_;
  const int scale_;     // times are shifted by it
  size_t entered_ = 0;  // packets from the source
};

}  // namespace bfly::dataplane
#endif
