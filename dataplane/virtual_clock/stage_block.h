// SPDX-License-Identifier: Apache-2.0
// One stage, restricted to a block of rows, under the virtual clock.
//
// The rows of a block are numbered 0..nodes-1 inside it. What has joined a link and not left it by
// the end of a window waits here. All of it leaves in an unbroken row, one service time after the
// other, so the time at which the link is free says when each does, and only the packets' words are
// kept.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dataplane/virtual_clock/boundary.h"
#include "dataplane/virtual_clock/delay_histogram.h"
#include "dataplane/virtual_clock/line_store.h"
#include "dataplane/virtual_clock/narrow_scratch.h"
#include "dataplane/virtual_clock/served_stage.h"
#include "dataplane/virtual_clock/sharing_lane.h"

namespace bfly::dataplane {

// What all blocks of a stage share: service times, and which lists nodes merge and write. Lists are
// numbered by the node they lead to: 2*j and 2*j+1 are the ones node j merges.
struct BlockWiring {
  std::vector<Ticks> service;  // service[2*j + port]: ticks the link of node j takes for a packet
  std::vector<uint32_t> in;    // in[j]: the first of the two lists node j merges
  std::vector<uint32_t> out;   // out[2*j + port]: the list that takes what leaves by the link
  size_t nodes() const { return in.size(); }
};

// The two links that leave a node.
struct NodeState {
  Ticks free[2];        // when the link has sent all it was given
  uint32_t packets[2];  // that left by it, modulo 2^32 (StageBlock::packets)
  uint16_t waiting[2];  // packets that have joined it and not left, unless its queue is long
  uint32_t queue;       // where the node's part of the block's queue starts
};
static_assert(sizeof(NodeState) == 32);

// The queue of a link that is too long to be copied every window.
struct LongQueue {
  std::vector<PacketWord> words;
  size_t left = 0;  // words at the front that have left
  uint32_t waiting() const { return static_cast<uint32_t>(words.size() - left); }
};

// Packets that enter or leave the network in a window.
struct PacketCount {
  uint64_t packets = 0;
  uint64_t early = 0;  // packets before an `inner` time of the window, summed over these times
};

// A window of time, as a stage runs it.
struct StageWindow {
  static constexpr uint32_t kMostBuckets = 32;  // bits of PacketList's `occupied`

  Ticks start = 0;
  Ticks end = 0;
  // With packets in vectors (packet_vectors.h) a bucket is 2^bucket_bits ticks; -1: one by one. The
  // same in all windows of a run, as `narrow` is.
  int bucket_bits = -1;
  bool narrow = false;           // the vectors are those of narrow_vectors.h
  std::span<const Ticks> inner;  // times in it for which the packets inside are counted
  bool from_boundary = false;    // with packets in vectors: nodes merge packed lists
  bool from_source = false;  // each node merges its first list alone, with packets at any distance
};

// The working memory of one worker, used for one block after the other.
struct BlockScratch {
  std::vector<VirtualPacket> arrivals;
  PacketArena packets[2];      // in turn: what a stage reads, and what it writes
  std::vector<PacketList> in;  // as packets[], by list
  std::vector<PacketList> out;
  std::vector<PacketWord> kept;  // the queue of the block after the window
  LineScratch<Sharer> sharers;
  LineScratch<VirtualPacket> classed;
#if BFLY_HAS_NARROW_VECTORS
  NarrowScratch narrow;
#endif
  // By stage of the network: what its links delayed packets that are measured. Empty: nobody asks.
  std::vector<DelayHistogram> delays;
  PacketCount generated;  // by the source, in the blocks of one window
  DelayHistogram* delays_of(int stage) {
    return delays.empty() ? nullptr : &delays[static_cast<size_t>(stage)];
  }
  size_t bytes() const;
};

#if BFLY_HAS_NARROW_VECTORS
class StageBlock;
// StageBlock::RunWindow with lists and words as narrow_vectors.h has them.
void RunNarrowWindow(StageBlock& block, const BlockWiring& wiring, NodeState* nodes,
                     const NarrowLists& lists, const StageWindow& window, NarrowScratch& scratch,
                     std::vector<PacketWord>& kept);
#endif

class StageBlock {
 public:
  // Takes the packets of the lists (all arrive before the window's end), joins each to its link's
  // queue, and makes lists of what leaves in the window. Windows must come in order. nodes: the
  // state of the block's nodes.
  void RunWindow(const BlockWiring& wiring, NodeState* nodes, const NodeLists& lists,
                 PacketArena& places, const StageWindow& window, std::vector<PacketWord>& kept);

  // All packets that came so far are measured, and links that take no time count too.
  ServedCount count() const { return {handled_, handled_, delay_sum_}; }
  uint64_t queued() const;  // packets that wait
  // Packets that left by `link`; `state` is the state of its node.
  uint64_t packets(const NodeState& state, size_t link) const {
    return state.packets[link % 2] + (wraps_.empty() ? 0 : uint64_t{wraps_[link]} << 32);
  }
  size_t bytes() const;

 private:
  class Window;
  friend class NarrowStage;

  LongQueue* LongQueueOf(size_t link) const { return long_.empty() ? nullptr : long_[link].get(); }

  std::unique_ptr<LongQueue>& LongPlaceOf(const BlockWiring& wiring, size_t link) {
    if (long_.empty()) long_.resize(2 * wiring.nodes());
    return long_[link];
  }
  void CountPackets(const BlockWiring& wiring, NodeState* nodes, size_t link, uint32_t departed) {
    uint32_t& packets = nodes[link / 2].packets[link % 2];
    packets += departed;
    if (packets < departed) [[unlikely]] {
      wraps_.resize(2 * wiring.nodes());
      ++wraps_[link];
    }
  }
  // Makes the first words of `kept` the block's queue.
  void KeepQueue(const std::vector<PacketWord>& kept, size_t words);

  std::vector<PacketWord> queue_;  // node after node, port 0 before port 1, each in order
  // By link, empty until a queue is long. A link with a long queue has no words in queue_.
  std::vector<std::unique_ptr<LongQueue>> long_;
  std::vector<uint32_t> wraps_;  // of NodeState's packets, by link; empty until there is one
  uint64_t handled_ = 0;
  TickSum delay_sum_ = 0;
};

}  // namespace bfly::dataplane
