// SPDX-License-Identifier: Apache-2.0
// A stage's work in one window, packet by packet or eight at a time. Only stage_block.cc includes
// this file.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "dataplane/virtual_clock/fifo_lane.h"
#include "dataplane/virtual_clock/packet_vectors.h"
#include "dataplane/virtual_clock/stage_block.h"

namespace bfly::dataplane {

inline constexpr int kLanes = 2;  // more lanes do not fit in the registers

// A short copy moves this many packets at once, and lists have as much room behind them. A loop
// that ended at the last packet would be mispredicted at nearly every link.
inline constexpr uint32_t kStride = 8;

// A queue longer than this is not copied from window to window.
inline constexpr uint32_t kLongQueue = 128;
// A long queue that has become as short as this is copied again.
inline constexpr uint32_t kShortAgain = kLongQueue / 4;

// Packets leave one service time after the other, the last one at `free`. Returns how many packets
// have not left at `time`.
inline uint32_t CountQueued(Ticks free, Ticks time, Ticks service) {
  return free < time ? 0 : static_cast<uint32_t>((free - time) / service + 1);
}

// Appends `more` packets, of which word_at(i) is the i-th word, to a long queue. If there is no
// long queue, one is made of the last `rest` of the link's `waiting` words at `queue`. A queue that
// has become short is copied to `kept`, which moves behind it. Returns how many words were at
// `queue`.
template <typename WordAt>
uint32_t KeepLong(std::unique_ptr<LongQueue>& place, uint32_t waiting, const PacketWord* queue,
                  uint32_t rest, uint32_t more, const WordAt& word_at, PacketWord*& kept) {
  const bool is_new = place == nullptr;
  if (is_new) {
    place = std::make_unique<LongQueue>();
    place->words.assign(queue + (waiting - rest), queue + waiting);
  }
  std::vector<PacketWord>& words = place->words;
  if (place->left > words.size() / 2) {
    words.erase(words.begin(), words.begin() + static_cast<ptrdiff_t>(place->left));
    place->left = 0;
  }
  for (uint32_t i = 0; i < more; ++i) words.push_back(word_at(i));
  if (rest + more <= kShortAgain) {
    kept = std::copy(words.end() - static_cast<ptrdiff_t>(rest + more), words.end(), kept);
    place.reset();
  }
  return is_new ? waiting : 0;
}

// A node between its first and its last packet of the window.
struct OpenNode {
  uint32_t left = 0;  // packets to come
  uint32_t node = 0;
  VirtualPacket* list[2] = {};  // the output lists
  uint32_t rest[2] = {};        // packets of the queue that stay after the window
};

class StageBlock::Window {
 public:
  Window(StageBlock& block, const BlockWiring& wiring, NodeState* nodes, const NodeLists& lists,
         VirtualPacket* places, const StageWindow& window, PacketWord* kept)
      : block_(block),
        wiring_(wiring),
        nodes_(nodes),
        in_(lists.in),
        from_(lists.from),
        to_(lists.to),
        out_(lists.out),
        place_(places),
        window_(window),
        end_(window.end),
        kept_start_(kept),
        kept_(kept) {}

  void Run() {
    static_assert(kLanes == 2, "fewer lanes than all are one");
    int live = 0;
    while (live < kLanes && OpenNext(live)) ++live;
    while (live > 0) {
      uint32_t steps = open_[0].left;
      for (int k = 1; k < live; ++k) steps = std::min(steps, open_[k].left);
      if (live == kLanes) {
        RunLanes<kLanes>(lanes_, steps);
      } else {
        RunLanes<1>(lanes_, steps);
      }
      for (int k = live - 1; k >= 0; --k) {
        if ((open_[k].left -= steps) > 0) continue;
        Close(k);
        if (OpenNext(k)) continue;
        --live;
        open_[k] = open_[live];
        lanes_[k] = lanes_[live];
      }
    }
  }

#if BFLY_HAS_PACKET_VECTORS
  // Steps are taken for several nodes in turn, because a step reads in whole vectors what the step
  // before it wrote in pieces, and would have to wait for these writes.
  BFLY_PACKET_VECTORS void RunVectors() {
    constexpr size_t kNodes = 8;
    const VectorWindow window(window_.start, end_, window_.bucket_bits, wiring_.service[0]);
    PortArrivals arrivals[kNodes][2];
    VectorLinkState links[kNodes][2];
    __m512i delays = _mm512_setzero_si512();
    for (size_t first = 0; first < wiring_.nodes(); first += kNodes) {
      const size_t last = std::min(first + kNodes, wiring_.nodes());
      for (size_t j = first; j < last; ++j) PartArrivals(j, arrivals[j - first]);
      for (size_t j = first; j < last; ++j) {
        for (size_t port = 0; port < 2; ++port) {
          delays = _mm512_add_epi64(delays, CarryLink(j, port, window, arrivals[j - first][port],
                                                      links[j - first][port]));
        }
        // Lanes hold the delays of a block whose queues are short.
        if (Arrivals(j) > PortArrivals::kMost || !block_.long_.empty()) [[unlikely]] {
          block_.delay_sum_ += static_cast<Ticks>(_mm512_reduce_add_epi64(delays));
          delays = _mm512_setzero_si512();
        }
      }
      for (size_t j = first; j < last; ++j) {
        nodes_[j].queue = static_cast<uint32_t>(kept());
        for (size_t port = 0; port < 2; ++port) CloseLink(2 * j + port, links[j - first][port]);
      }
    }
    block_.delay_sum_ += static_cast<Ticks>(_mm512_reduce_add_epi64(delays));
  }
#endif

  size_t kept() const { return static_cast<size_t>(kept_ - kept_start_); }

 private:
  // Opens the next node that packets come to as number k, and settles the nodes before it. Returns
  // false if there is no such node.
  bool OpenNext(int k) {
    while (next_ < wiring_.nodes()) {
      Open(next_++, k);
      if (open_[k].left > 0) return true;
      Close(k);
    }
    return false;
  }

  void Open(size_t j, int k) {
    OpenNode& open = open_[k];
    FifoLane& lane = lanes_[k];
    const NodeState& node = nodes_[j];
    const PacketList& first = in_[from_[j]];
    const PacketList& second = in_[from_[j] + 1];
    open.node = static_cast<uint32_t>(j);
    open.left = first.count + second.count;
    lane.first = first.first;
    lane.second = second.first;
    lane.delay = 0;
    const PacketWord* queue = block_.queue_.data() + node.queue;
    for (size_t port = 0; port < 2; ++port) {
      const Ticks service = wiring_.service[2 * j + port];
      LongQueue* const long_queue = block_.LongQueueOf(2 * j + port);
      const uint32_t waiting = long_queue ? long_queue->waiting() : node.waiting[port];
      const uint32_t rest = CountQueued(node.free[port], end_, service);
      const uint32_t leaving = waiting - rest;
      Ticks time = node.free[port] - (waiting - Ticks{1}) * service;
      if (long_queue != nullptr) [[unlikely]] {
        const PacketWord* words = long_queue->words.data() + long_queue->left;
        for (uint32_t i = 0; i < leaving; ++i, time += service) place_[i] = {time, words[i]};
        long_queue->left += leaving;
      } else {
        for (uint32_t at = 0; at < leaving; at += kStride) {
          for (uint32_t i = 0; i < kStride; ++i, time += service) {
            place_[at + i] = {time, queue[at + i]};
          }
        }
        queue += waiting;
      }
      lane.free[port] = node.free[port];
      lane.service[port] = service;
      lane.out[port] = place_ + leaving;
      open.list[port] = place_;
      open.rest[port] = rest;
      place_ += leaving + open.left + kStride;
    }
  }

  void Close(int k) {
    const OpenNode& open = open_[k];
    const FifoLane& lane = lanes_[k];
    NodeState& node = nodes_[open.node];
    block_.delay_sum_ += lane.delay;
    const PacketWord* queue = block_.queue_.data() + node.queue;
    node.queue = static_cast<uint32_t>(kept());
    for (size_t port = 0; port < 2; ++port) {
      const size_t link = 2 * open.node + port;
      const uint32_t waiting = CountQueued(lane.free[port], end_, lane.service[port]);
      // The packets that stay of the old queue are followed by the packets that came and do not
      // leave.
      const uint32_t rest = open.rest[port], more = waiting - rest;
      VirtualPacket* end = lane.out[port] - more;
      if (waiting > kLongQueue || block_.LongQueueOf(link) != nullptr) [[unlikely]] {
        queue += KeepLong(
            block_.LongPlaceOf(wiring_, link), node.waiting[port], queue, rest, more,
            [end](uint32_t i) { return end[i].word; }, kept_);
      } else {
        if (rest > 0) std::copy_n(queue + (node.waiting[port] - rest), rest, kept_);
        queue += node.waiting[port];
        PacketWord* words = kept_ + rest;
        for (uint32_t at = 0; at < more; at += kStride) {
          for (uint32_t i = 0; i < kStride; ++i) words[at + i] = end[at + i].word;
        }
        kept_ += waiting;
      }
      const auto departed = static_cast<uint32_t>(end - open.list[port]);
      node.free[port] = lane.free[port];
      node.waiting[port] = static_cast<uint16_t>(waiting);
      block_.CountPackets(wiring_, nodes_, link, departed);
      end->time = kNever;
      out_[to_[link]] = {open.list[port], departed, 0};
    }
  }

  uint32_t Arrivals(size_t j) const {
    const PacketList* lists = in_ + from_[j];
    return window_.from_source ? lists[0].count : lists[0].count + lists[1].count;
  }

#if BFLY_HAS_PACKET_VECTORS
  // A link between its last packet and the end of the window.
  struct VectorLinkState {
    VirtualPacket* list;
    VirtualPacket* list_end;  // the place behind the packets that stay
    uint32_t rest;            // packets of a long queue that stay and are not in the list
    uint32_t occupied;        // as in PacketList
  };

  // The first arrivals of a node, all of them unless there are more than PortArrivals has room for.
  BFLY_PACKET_VECTORS void PartArrivals(size_t j, PortArrivals arrivals[2]) {
    const PacketList* lists = in_ + from_[j];
    PortSplitter splitter(arrivals);
    const auto buckets =
        static_cast<uint32_t>((end_ - 1 - window_.start) >> window_.bucket_bits) + 1;
    if (window_.from_source) {
      PartSource(lists[0].first, std::min(lists[0].count, PortArrivals::kMost), splitter);
    } else if (window_.from_boundary) {
      const Ticks start = window_.start;
      const int bits = window_.bucket_bits;
      splitter.MergeAll(PackedList(lists[0].first, lists[0].count, lists[0].occupied, start, bits),
                        PackedList(lists[1].first, lists[1].count, lists[1].occupied, start, bits),
                        buckets);
    } else {
      splitter.MergeAll(SpreadList{lists[0].first, lists[0].occupied},
                        SpreadList{lists[1].first, lists[1].occupied}, buckets);
    }
    splitter.Done();
  }

  BFLY_PACKET_VECTORS static void PartSource(const VirtualPacket* packets, uint32_t count,
                                             PortSplitter& splitter) {
    for (uint32_t at = 0; at < count; at += kVector) {
      splitter.Add(LoadPackets(packets + at), (1u << std::min<uint32_t>(count - at, kVector)) - 1);
    }
  }

  // Carries packets over one link of a node. Call it for port 0 and then for port 1, because the
  // node's queue has the packets of port 0 first.
  BFLY_PACKET_VECTORS __m512i CarryLink(size_t j, size_t port, const VectorWindow& window,
                                        const PortArrivals& arrivals, VectorLinkState& state) {
    NodeState& node = nodes_[j];
    VectorLink link(window, place_);
    state.list = place_;
    state.rest = 0;
    const Ticks service = wiring_.service[0];
    LongQueue* const long_queue = block_.LongQueueOf(2 * j + port);
    const uint32_t waiting = long_queue ? long_queue->waiting() : node.waiting[port];
    const Ticks next = node.free[port] - (waiting - Ticks{1}) * service;
    if (long_queue != nullptr) [[unlikely]] {
      state.rest = CountQueued(node.free[port], end_, service);
      PacketWord leaving[StageWindow::kMostBuckets + kVector] = {};
      std::copy_n(long_queue->words.data() + long_queue->left, waiting - state.rest, leaving);
      long_queue->left += waiting - state.rest;
      link.Continue(leaving, waiting - state.rest, next);
    } else {
      link.Continue(block_.queue_.data() + node.queue, waiting, next);
      node.queue += waiting;
    }
    Ticks free = node.free[port];
    __m512i delays = link.Carry(arrivals, free);
    const uint32_t count = Arrivals(j);
    for (uint32_t done = PortArrivals::kMost; done < count; done += PortArrivals::kMost)
      [[unlikely]] {
        PortArrivals more[2];
        PortSplitter splitter(more);
        PartSource(in_[from_[j]].first + done, std::min(count - done, PortArrivals::kMost),
                   splitter);
        splitter.Done();
        delays = _mm512_add_epi64(delays, link.Carry(more[port], free));
      }
    node.free[port] = free;
    place_ = state.list_end = link.out();
    state.occupied = link.occupied();
    return delays;
  }

  BFLY_PACKET_VECTORS void CloseLink(size_t link, const VectorLinkState& state) {
    NodeState& node = nodes_[link / 2];
    const auto departed = static_cast<uint32_t>(std::popcount(state.occupied));
    const VirtualPacket* stay = state.list + departed;
    const auto more = static_cast<uint32_t>(state.list_end - stay);
    const uint32_t waiting = state.rest + more;
    if (waiting > kLongQueue || block_.LongQueueOf(link) != nullptr) [[unlikely]] {
      KeepLong(
          block_.LongPlaceOf(wiring_, link), 0, nullptr, state.rest, more,
          [stay](uint32_t i) { return stay[i].word; }, kept_);
    } else {
      for (uint32_t at = 0;; at += kVector) {
        _mm512_storeu_si512(kept_ + at, LoadPackets(stay + at).words);
        if (at + kVector >= more) break;
      }
      kept_ += more;
    }
    node.waiting[link % 2] = static_cast<uint16_t>(waiting);
    block_.CountPackets(wiring_, nodes_, link, departed);
    out_[to_[link]] = {state.list, departed, state.occupied};
  }
#endif

  StageBlock& block_;
  const BlockWiring& wiring_;
  NodeState* const nodes_;
  const PacketList* const in_;
  const uint32_t* const from_;
  const uint32_t* const to_;
  PacketList* const out_;
  VirtualPacket* place_;
  const StageWindow& window_;
  const Ticks end_;
  PacketWord* const kept_start_;
  PacketWord* kept_;
  size_t next_ = 0;
  OpenNode open_[kLanes];
  FifoLane lanes_[kLanes];
};

}  // namespace bfly::dataplane
