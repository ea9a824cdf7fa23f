// SPDX-License-Identifier: Apache-2.0
// Runs consecutive stages block by block.
//
// k butterfly stages touch k address bits; the 2^k rows that differ only in these bits exchange
// packets with no other row in these stages. Such a block goes through all k stages while it is in
// cache, and the whole network is read from memory once for each group instead of once for each
// stage. Blocks are independent, so workers share them.
#pragma once

#include <variant>
#include <vector>

#include "dataplane/virtual_clock/class_source.h"
#include "dataplane/virtual_clock/delay_sink.h"
#include "dataplane/virtual_clock/priority_block.h"
#include "dataplane/virtual_clock/served_stage.h"
#include "dataplane/virtual_clock/sharing_block.h"
#include "dataplane/virtual_clock/source.h"
#include "dataplane/virtual_clock/stage_block.h"
#include "topologies/crew.h"
#include "topologies/network.h"
#include "topologies/page_array.h"

namespace bfly::dataplane {

// What a group reads and writes. It reads a source or a boundary, and writes a boundary or one sink
// for each worker.
struct GroupEnds {
  VirtualSource* source = nullptr;
  // The classes of the packets that the source generates, if words keep classes.
  ClassSource* classes = nullptr;
  const Boundary* in = nullptr;
  Boundary* out = nullptr;
  DelaySink* sinks = nullptr;
};

// Stages first..last of the network.
struct StageRange {
  int first = 0;
  int last = 0;
};

class StageGroup {
 public:
  StageGroup(const Network& network, StageRange stages, const LinkService& service);

  // Parts stages first..last into as few groups as caches allow, of sizes that are as equal as
  // possible.
  static std::vector<StageRange> Split(const Network& network, int first, int last);

  // Carries all packets that reach the group in the window to where they are at its end. `scratch`
  // has one entry for each worker. Returns how many packets the source generated.
  PacketCount RunWindow(Crew& crew, const GroupEnds& ends, const StageWindow& window,
                        std::vector<BlockScratch>& scratch);

  int first() const { return stages_.first; }
  int last() const { return stages_.last; }
  uint64_t queued() const;
  // The ServedCount of all blocks of the stage. FIFO links that take no time are included.
  ServedCount count(int stage) const;
  // Adds the number of packets of each link of `stage` to counts[2*row + port].
  void CountLinks(int stage, uint64_t* counts) const;
  size_t bytes() const;

 private:
  Row RowOf(size_t block, size_t node) const { return row_of_block_[block] | row_of_node_[node]; }
  const BlockWiring& wiring(int stage) const {
    return wiring_[static_cast<size_t>(stage - stages_.first)];
  }
  size_t depth() const { return static_cast<size_t>(stages_.last - stages_.first + 1); }
  size_t at(int stage, size_t block) const {
    return block * depth() + static_cast<size_t>(stage - stages_.first);
  }
  void RunBlock(int worker, size_t block, const GroupEnds& ends, const StageWindow& window,
                BlockScratch& scratch);

#if BFLY_HAS_NARROW_VECTORS
  // RunBlock by the vectors of narrow_vectors.h.
  void RunNarrow(int worker, size_t block, const GroupEnds& ends, const StageWindow& window,
                 BlockScratch& scratch);
#endif

  // Makes `count` blocks by calling make().
  template <typename Make>
  void MakeBlocks(size_t count, const Make& make);
  // Generates the packets that the rows of a block send in the window, as the lists that the
  // block's nodes merge.
  void Generate(size_t block, const GroupEnds& ends, const StageWindow& window,
                BlockScratch& scratch);
  // Runs one stage of a block. `number`: the number of the block and stage, as at() counts.
  void RunStage(std::vector<StageBlock>& blocks, size_t number, int stage, const NodeLists& lists,
                const StageWindow& window, BlockScratch& scratch);
  void RunStage(std::vector<SharingBlock>& blocks, size_t number, int stage, const NodeLists& lists,
                const StageWindow& window, BlockScratch& scratch);
  void RunStage(std::vector<PriorityBlock>& blocks, size_t number, int stage,
                const NodeLists& lists, const StageWindow& window, BlockScratch& scratch);

  const StageRange stages_;
  const LinkService service_;
  std::vector<Row> row_of_node_;
  std::vector<Row> row_of_block_;
  std::vector<BlockWiring> wiring_;  // one for each stage
  std::vector<uint32_t> by_link_;    // 0, 1, 2, ...: lists in the order of links
  std::vector<uint32_t> by_node_;    // 0, 2, 4, ...
  // Block after block, and for each block stage after stage: the order in which they are run.
  std::variant<std::vector<StageBlock>, std::vector<SharingBlock>, std::vector<PriorityBlock>>
      blocks_;
  PageArray<NodeState> nodes_;  // the state of nodes with FIFO links
};

}  // namespace bfly::dataplane
