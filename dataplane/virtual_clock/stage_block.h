// SPDX-License-Identifier: Apache-2.0
// One stage, restricted to a block of rows, under the virtual clock.
//
// The rows of a block are numbered 0..nodes-1 inside it. Packets that have joined a link and not
// left it by the end of a window wait here. They leave without a pause, one service time after the
// other, so the time at which the link is free says when each packet leaves, and only the packets'
// words are kept.
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

// The values that all blocks of a stage share: service times, and which lists nodes merge and
// write. Lists are numbered by the node to which they lead: node j merges the lists 2*j and 2*j+1.
struct BlockWiring {
  // service[2*j + port]: ticks that the link of node j takes for a packet.
  std::vector<Ticks> service;
  std::vector<uint32_t> in;  // in[j]: the first of the two lists that node j merges
  // out[2*j + port]: the list that takes the packets that leave by the link.
  std::vector<uint32_t> out;
  size_t nodes() const { return in.size(); }
};

// The two links that leave a node.
struct NodeState {
  Ticks free[2];        // when the link has sent all packets it was given
  uint32_t packets[2];  // packets that left by the link, modulo 2^32 (StageBlock::packets)
  uint16_t waiting[2];  // packets that have joined the link and not left, unless its queue is long
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

// A window of time in which a stage runs.
struct StageWindow {
  static constexpr uint32_t kMostBuckets = 32;  // bits of PacketList's `occupied`

  Ticks start = 0;
  Ticks end = 0;
  // With packets in vectors (packet_vectors.h) a bucket is 2^bucket_bits ticks; -1: packets are
  // taken one by one. The value is the same in all windows of a run, and so is `narrow`.
  int bucket_bits = -1;
  bool narrow = false;           // the vectors are those of narrow_vectors.h
  std::span<const Ticks> inner;  // times in the window at which the packets inside are counted
  bool from_boundary = false;    // nodes merge packed lists; only with packets in vectors
  // Each node takes only its first list, whose packets may be less than a bucket apart.
  bool from_source = false;
};

// The working memory of one worker, used for one block after the other.
struct BlockScratch {
  std::vector<VirtualPacket> arrivals;
  PacketArena packets[2];      // a stage reads one and writes the other, in turn
  std::vector<PacketList> in;  // the lists that a stage reads
  std::vector<PacketList> out;
  std::vector<PacketWord> kept;  // the queue of the block after the window
  LineScratch<Sharer> sharers;
  LineScratch<VirtualPacket> classed;
#if BFLY_HAS_NARROW_VECTORS
  NarrowScratch narrow;
#endif
  // For each stage of the network: the delays of measured packets at its links. Empty: delays of
  // stages are not asked for.
  std::vector<DelayHistogram> delays;
  PacketCount generated;  // packets that the source generated in the blocks of one window
  DelayHistogram* delays_of(int stage) {
    return delays.empty() ? nullptr : &delays[static_cast<size_t>(stage)];
  }
  size_t bytes() const;
};

#if BFLY_HAS_NARROW_VECTORS
class StageBlock;
// StageBlock::RunWindow with the lists and words of narrow_vectors.h.
void RunNarrowWindow(StageBlock& block, const BlockWiring& wiring, NodeState* nodes,
                     const NarrowLists& lists, const StageWindow& window, NarrowScratch& scratch,
                     std::vector<PacketWord>& kept);
#endif

class StageBlock {
 public:
  // Takes the packets of the lists (all arrive before the window's end), joins each to its link's
  // queue, and makes lists of the packets that leave in the window. Windows must come in order.
  // `nodes`: the state of the block's nodes.
  void RunWindow(const BlockWiring& wiring, NodeState* nodes, const NodeLists& lists,
                 PacketArena& places, const StageWindow& window, std::vector<PacketWord>& kept);

  // All packets that came so far count as measured, and links that take no time are included.
  ServedCount count() const { return {handled_, handled_, delay_sum_}; }
  uint64_t queued() const;  // packets that wait
  // How many packets left by `link`. `state` is the state of its node.
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

  std::vector<PacketWord> queue_;  // node after node, port 0 before port 1, each queue in order
  // One entry for each link; empty until a queue is long. A link with a long queue has no words in
  // queue_.
  std::vector<std::unique_ptr<LongQueue>> long_;
  // For each link: how often NodeState::packets wrapped; empty until one has wrapped.
  std::vector<uint32_t> wraps_;
  uint64_t handled_ = 0;
  TickSum delay_sum_ = 0;
};

}  // namespace bfly::dataplane
