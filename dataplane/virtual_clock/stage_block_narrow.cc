// SPDX-License-Identifier: Apache-2.0
// A stage's work in one window, eight packets of 32 bits at a time (narrow_vectors.h).
#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "dataplane/virtual_clock/narrow_scratch.h"
#include "dataplane/virtual_clock/stage_block.h"
#include "dataplane/virtual_clock/stage_block_window.h"

#if BFLY_HAS_NARROW_VECTORS

namespace bfly::dataplane {

class NarrowStage {
 public:
  static void RunWindow(StageBlock& block, const BlockWiring& wiring, NodeState* nodes,
                        const NarrowLists& lists, const StageWindow& when, NarrowScratch& scratch,
                        std::vector<PacketWord>& kept);

  NarrowStage(StageBlock& block, const BlockWiring& wiring, NodeState* nodes,
              const NarrowLists& lists, const StageWindow& window, NarrowScratch& scratch,
              PacketWord* kept)
      : block_(block),
        wiring_(wiring),
        nodes_(nodes),
        lists_(lists),
        window_(window),
        scratch_(scratch),
        scale_(kMostBucketBits - window.bucket_bits),
        buckets_(static_cast<uint32_t>((window.end - 1 - window.start) >> window.bucket_bits) + 1),
        times_(wiring.service[0] << scale_),
        offsets_(lists.arena->offsets.data()),
        handles_(lists.arena->handles.data()),
        kept_start_(kept),
        kept_(kept) {}

  // Steps are taken for several nodes in turn, because a step reads in whole vectors what the step
  // before it wrote in pieces, and would have to wait for these writes.
  BFLY_NARROW_VECTORS void Run() {
    NarrowArrivals(&arrivals)[NarrowScratch::kNodes][2] = scratch_.arrivals;
    LinkState links[NarrowScratch::kNodes][2];
    delays_ = _mm256_setzero_si256();
    for (size_t first = 0; first < wiring_.nodes(); first += NarrowScratch::kNodes) {
      const size_t last = std::min(first + NarrowScratch::kNodes, wiring_.nodes());
      for (size_t j = first; j < last; ++j) PartArrivals(j, arrivals[j - first]);
      for (size_t j = first; j < last; ++j) {
        for (size_t port = 0; port < 2; ++port) {
          CarryLink(j, port, arrivals[j - first][port], links[j - first][port]);
          // Lanes hold the delays of a block whose queues are short.
          if (!block_.long_.empty()) [[unlikely]]
            AddDelays();
        }
      }
      for (size_t j = first; j < last; ++j) {
        nodes_[j].queue = static_cast<uint32_t>(kept());
        for (size_t port = 0; port < 2; ++port) CloseLink(2 * j + port, links[j - first][port]);
      }
    }
    AddDelays();
  }

  size_t kept() const { return static_cast<size_t>(kept_ - kept_start_); }

 private:
  // A link between its last packet and the end of the window.
  struct LinkState {
    uint32_t list;      // place in the arena
    uint32_t list_end;  // the place behind the packets that stay
    uint32_t rest;      // packets of a long queue that stay and are not in the list
    uint32_t occupied;  // as in NarrowList
  };

  BFLY_NARROW_VECTORS void AddDelays() {
    uint64_t lanes[4];
    WordTable::Store(lanes, delays_);
    TickSum sum = 0;
    for (const uint64_t lane : lanes) sum += lane;
    block_.delay_sum_ += (sum - too_much_) >> scale_;
    delays_ = _mm256_setzero_si256();
    too_much_ = 0;
  }

  // The first arrivals of a node, all of them unless there are more than NarrowArrivals has room
  // for.
  BFLY_NARROW_VECTORS void PartArrivals(size_t j, NarrowArrivals arrivals[2]) {
    const NarrowList& first = lists_.in[2 * j];
    if (window_.from_source) {
      PartSource(first, 0, arrivals);
      return;
    }
    NarrowSplitter splitter(arrivals);
    splitter.Merge(first, lists_.in[2 * j + 1], buckets_);
    splitter.Done();
  }

  // The packets of a source from number `from` on.
  BFLY_NARROW_VECTORS static void PartSource(const NarrowList& list, uint32_t from,
                                             NarrowArrivals arrivals[2]) {
    NarrowSplitter splitter(arrivals);
    const uint32_t to = std::min(list.count, from + NarrowArrivals::kMost);
    for (uint32_t at = from; at < to; at += kVector) {
      splitter.Add(WordTable::Load(list.offsets + at), WordTable::Load(list.handles + at),
                   (1u << std::min<uint32_t>(to - at, kVector)) - 1);
    }
    splitter.Done();
  }

  // Carries packets over one link of a node. Call it for port 0 and then for port 1, because the
  // node's queue has the packets of port 0 first.
  BFLY_NARROW_VECTORS void CarryLink(size_t j, size_t port, const NarrowArrivals& arrivals,
                                     LinkState& state) {
    NodeState& node = nodes_[j];
    state.list = place_;
    state.rest = 0;
    NarrowLink link(times_, offsets_ + place_, handles_ + place_);
    LongQueue* const long_queue = block_.LongQueueOf(2 * j + port);
    uint32_t waiting = long_queue ? long_queue->waiting() : node.waiting[port];
    uint64_t free =
        node.free[port] > window_.start ? (node.free[port] - window_.start) << scale_ : 0;
    const uint64_t next = free - (waiting - uint64_t{1}) * times_.service;
    if (long_queue != nullptr) [[unlikely]] {
      state.rest = CountQueued(node.free[port], window_.end, wiring_.service[0]);
      waiting -= state.rest;
      PacketWord words[StageWindow::kMostBuckets + kVector] = {};
      uint32_t handles[StageWindow::kMostBuckets + kVector];
      std::copy_n(long_queue->words.data() + long_queue->left, waiting, words);
      long_queue->left += waiting;
      scratch_.words.Append(words, waiting, lists_.crossed, handles);
      link.Continue(handles, waiting, next);
    } else {
      link.Continue(scratch_.queued.data() + node.queue, waiting, next);
      node.queue += waiting;
    }
    too_much_ += link.Carry(arrivals, free, delays_);
    place_ += waiting + arrivals.count;
    const NarrowList& source = lists_.in[2 * j];
    if (window_.from_source && source.count > NarrowArrivals::kMost) [[unlikely]] {
      for (uint32_t done = NarrowArrivals::kMost; done < source.count;
           done += NarrowArrivals::kMost) {
        NarrowArrivals more[2];
        PartSource(source, done, more);
        AddDelays();
        too_much_ += link.Carry(more[port], free, delays_);
        place_ += more[port].count;
      }
    }
    node.free[port] = window_.start + (free >> scale_);
    state.list_end = place_;
    state.occupied = Occupied(link, state.list);
  }

  // A bit for each bucket in which a packet leaves before the window's end.
  BFLY_NARROW_VECTORS uint32_t Occupied(const NarrowLink& link, uint32_t list) const {
    const uint32_t last = uint32_t{1} << (buckets_ - 1);
    uint32_t occupied = link.occupied() & (last | (last - 1));
    // The window may end inside its last bucket.
    const uint64_t end = (window_.end - window_.start) << scale_;
    if ((end & 0xFFFFFFFF) != 0 && (occupied & last) != 0 &&
        offsets_[list + static_cast<uint32_t>(std::popcount(occupied)) - 1] >= (end & 0xFFFFFFFF)) {
      occupied ^= last;
    }
    return occupied;
  }

  void CloseLink(size_t link, const LinkState& state) {
    NodeState& node = nodes_[link / 2];
    const auto departed = static_cast<uint32_t>(std::popcount(state.occupied));
    const uint32_t* stay = handles_ + state.list + departed;
    const uint32_t more = state.list_end - state.list - departed;
    const uint32_t waiting = state.rest + more;
    const auto word_at = [&](uint32_t i) { return scratch_.words.WordOf(stay[i]); };
    if (waiting > kLongQueue || block_.LongQueueOf(link) != nullptr) [[unlikely]] {
      KeepLong(block_.LongPlaceOf(wiring_, link), 0, nullptr, state.rest, more, word_at, kept_);
    } else {
      constexpr uint32_t kAtOnce = 4;
      for (uint32_t at = 0; at < more; at += kAtOnce) {
        for (uint32_t i = at; i < at + kAtOnce; ++i) kept_[i] = word_at(i);
      }
      kept_ += more;
    }
    node.waiting[link % 2] = static_cast<uint16_t>(waiting);
    block_.CountPackets(wiring_, nodes_, link, departed);
    lists_.out[lists_.to != nullptr ? lists_.to[link] : link] = {
        offsets_ + state.list, handles_ + state.list, departed, state.occupied};
  }

  StageBlock& block_;
  const BlockWiring& wiring_;
  NodeState* const nodes_;
  const NarrowLists& lists_;
  const StageWindow& window_;
  NarrowScratch& scratch_;
  const int scale_;  // times are shifted left by this many bits
  const uint32_t buckets_;
  const NarrowTimes times_;
  uint32_t* const offsets_;
  uint32_t* const handles_;
  PacketWord* const kept_start_;
  PacketWord* kept_;
  uint32_t place_ = 0;
  __m256i delays_;
  uint64_t too_much_ = 0;  // how much delays_ has too much
};

void NarrowStage::RunWindow(StageBlock& block, const BlockWiring& wiring, NodeState* nodes,
                            const NarrowLists& lists, const StageWindow& when,
                            NarrowScratch& scratch, std::vector<PacketWord>& kept) {
  std::vector<PacketWord>& queue = block.queue_;
  if (queue.empty()) queue.resize(kStride);
  uint64_t arrivals = 0, leaving = queue.size() - kStride, from_long = 0, shortened = 0;
  for (size_t list = 0; list < 2 * wiring.nodes(); ++list) arrivals += lists.in[list].count;
  for (size_t link = 0; link < block.long_.size(); ++link) {
    const LongQueue* const long_queue = block.LongQueueOf(link);
    if (long_queue == nullptr) continue;
    const Ticks free = nodes[link / 2].free[link % 2];
    shortened += kShortAgain;
    from_long += long_queue->waiting() - CountQueued(free, when.end, wiring.service[link]);
  }
  lists.arena->Extend(leaving + from_long + arrivals);
  scratch.words.Reserve(leaving + from_long + kStride);
  if (scratch.queued.size() < queue.size() + kNarrowSpare) {
    scratch.queued.resize(queue.size() + queue.size() / 8 + kNarrowSpare);
  }
  scratch.words.Append(queue.data(), queue.size() - kStride, lists.crossed, scratch.queued.data());
  const size_t most = queue.size() + arrivals + shortened + kStride + 2 * wiring.nodes();
  if (kept.size() < most) kept.resize(most);
  NarrowStage window(block, wiring, nodes, lists, when, scratch, kept.data());
  window.Run();
  block.handled_ += arrivals;
  block.KeepQueue(kept, window.kept());
}

void RunNarrowWindow(StageBlock& block, const BlockWiring& wiring, NodeState* nodes,
                     const NarrowLists& lists, const StageWindow& when, NarrowScratch& scratch,
                     std::vector<PacketWord>& kept) {
  NarrowStage::RunWindow(block, wiring, nodes, lists, when, scratch, kept);
}

}  // namespace bfly::dataplane
#endif
