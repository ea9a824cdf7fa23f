// SPDX-License-Identifier: Apache-2.0
// Consecutive stages run block by block.
//
// Six butterfly stages touch six address bits; the 64 rows that differ in those alone exchange
// packets with no other row in these stages. Such a block goes through all of them while it is in
// cache, and the whole network is read from memory once for every six stages, not once a stage.
#pragma once

#include <vector>

#include "dataplane/virtual_clock/stage_block.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class StageGroup {
 public:
  // Stages first..last of the network. unit: ticks of service.
  StageGroup(const Network& network, int first, int last, Ticks unit);

  // The longest run of stages from `first`, up to `limit`, that makes one group.
  static int LastStage(const Network& network, int first, int limit);

  void RunWindow(const Boundary& in, Boundary& out, Ticks window_end);

  int first() const { return first_; }
  int last() const { return last_; }
  uint64_t queued() const;
  uint64_t handled(int stage) const;
  Ticks delay_sum(int stage) const;
  // Adds the packets of each link of `stage` to counts[2*row + port].
  void CountLinks(int stage, uint64_t* counts) const;
  size_t bytes() const;

 private:
  Row RowOf(size_t block, size_t node) const { return row_of_block_[block] | row_of_node_[node]; }
  StageBlock& at(int stage, size_t block) {
    return blocks_[static_cast<size_t>(stage - first_) * row_of_block_.size() + block];
  }
  const StageBlock& at(int stage, size_t block) const {
    return blocks_[static_cast<size_t>(stage - first_) * row_of_block_.size() + block];
  }

  const int first_;
  const int last_;
  std::vector<Row> row_of_node_;
  std::vector<Row> row_of_block_;
  std::vector<BlockWiring> wiring_;  // per stage
  std::vector<StageBlock> blocks_;   // stage-major
  Boundary inner_[2];                // between the stages of one block
  std::vector<VirtualPacket> scratch_;
};

}  // namespace bfly::dataplane
