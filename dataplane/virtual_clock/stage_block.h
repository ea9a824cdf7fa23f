// SPDX-License-Identifier: Apache-2.0
// One stage, restricted to a block of rows, under the virtual clock.
//
// The rows of a block are numbered 0..nodes-1 inside it. The links' queues belong to the stage:
// what has joined a link and not left it by the end of a window stays here, already with its time
// of departure.
#pragma once

#include <vector>

#include "dataplane/virtual_clock/boundary.h"

namespace bfly::dataplane {

// What all blocks of a stage share: service times, and which lists nodes merge and write. Lists are
// numbered by the node they lead to: 2*j and 2*j+1 are the ones node j merges.
struct BlockWiring {
  std::vector<Ticks> service;  // service[2*j + port]: ticks the link of node j takes for a packet
  std::vector<uint32_t> in;    // in[j]: the first of the two lists node j merges
  std::vector<uint32_t> out;   // out[2*j + port]: the list that takes what leaves by the link
  size_t nodes() const { return in.size(); }
};

class StageBlock {
 public:
  explicit StageBlock(size_t nodes);

  // Takes every packet of its lists of `in` (all arrive before `window_end`), joins it to its
  // link's queue, and writes what leaves before `window_end` to `out`. Windows must come in order.
  // The bases are added to the wiring's list numbers; `scratch` is for reuse between calls.
  void RunWindow(const BlockWiring& wiring, const Boundary& in, size_t in_base, Boundary& out,
                 size_t out_base, Ticks window_end, std::vector<VirtualPacket>& scratch);

  // Packets that left by a link, and that wait for one now.
  uint64_t packets(size_t link) const { return packets_[link]; }
  uint64_t queued() const { return queued_.size(); }
  // Over all packets so far: how many, and the sum of departure - arrival.
  uint64_t handled() const { return handled_; }
  Ticks delay_sum() const { return delay_sum_; }

  size_t bytes() const {
    return free_.size() * (sizeof(Ticks) + sizeof(uint32_t) + sizeof(uint64_t)) +
           queued_.capacity() * sizeof(VirtualPacket) + sizeof(*this);
  }

 private:
  std::vector<Ticks> free_;            // per link: when it has sent all it was given
  std::vector<uint32_t> waiting_;      // per link: how many of queued_ are its
  std::vector<uint64_t> packets_;      // per link
  std::vector<VirtualPacket> queued_;  // link after link, each in order of departure
  uint64_t handled_ = 0;
  Ticks delay_sum_ = 0;
};

}  // namespace bfly::dataplane
