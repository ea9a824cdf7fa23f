// SPDX-License-Identifier: Apache-2.0
// What the packets of a program do at the nodes of each block. A fabric whose workers run the
// program turns it into real packets on its links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/steps/block_map.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// The traffic of one block. The thread that runs a part of the block writes it; between the parts
// the thread that drives the program writes it.
struct BlockTraffic {
  struct Beginning {
    uint32_t packet = 0;
    Row input = 0;
  };
  struct Crossing {
    int hop = 0;
    uint32_t link = 0;  // within the stage: row of the tail * ports + port
    Row head = 0;
    uint32_t packet = 0;
  };
  // Blocks share no cache line.
  alignas(64) uint64_t begun = 0;  // packets put at inputs of the block
  // The beginnings of these packets, if set_lists_beginnings(true) was called.
  std::vector<Beginning> beginnings;
  std::vector<Crossing> crossings;  // crossings of links that leave nodes of the block
  uint64_t last_step = 0;           // the step of the last crossing, counted from 1
  // Call it after the traffic has been read.
  void Clear() {
    begun = 0;
    beginnings.clear();
    crossings.clear();
  }
};

class PacketTraffic {
 public:
  // The network outlives the object. `blocks` are the blocks of a crew.
  PacketTraffic(const Network& network, const std::vector<NodeBlock>& blocks)
      : network_(network),
        map_(network.hops() + 1, network.rows(), blocks),
        of_block_(blocks.size()) {}

  const BlockMap& map() const { return map_; }
  BlockTraffic& of_block(size_t block) { return of_block_[block]; }

  // Sets whether a block lists the packets that begin, and not only counts them. Call it between
  // runs.
  void set_lists_beginnings(bool lists) { lists_beginnings_ = lists; }

  void Begin(uint64_t packet, Row input) {
    BlockTraffic& block = of_block_[map_.BlockOf(0, input)];
    ++block.begun;
    if (lists_beginnings_) block.beginnings.push_back({static_cast<uint32_t>(packet), input});
  }
  void Cross(uint64_t packet, int hop, Row tail, int port, uint64_t step) {
    BlockTraffic& block = of_block_[map_.BlockOf(hop, tail)];
    block.crossings.push_back(
        {hop, tail * static_cast<uint32_t>(network_.ports()) + static_cast<uint32_t>(port),
         network_.next_row(network_.stage_of_hop(hop), tail, port), static_cast<uint32_t>(packet)});
    block.last_step = step;
  }

 private:
  const Network& network_;
  const BlockMap map_;
  bool lists_beginnings_ = false;
  std::vector<BlockTraffic> of_block_;
};

}  // namespace bfly::dataplane
