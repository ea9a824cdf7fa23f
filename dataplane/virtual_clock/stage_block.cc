// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/stage_block.h"

#include <algorithm>

#include "dataplane/virtual_clock/fifo_lane.h"

namespace bfly::dataplane {
namespace {

constexpr int kLanes = 2;  // more lanes do not fit in the registers

// Short copies go by so many at once, and lists have as much room behind them: a loop that ends at
// the right packet is mispredicted at nearly every link.
constexpr uint32_t kStride = 8;

// A queue longer than this is not copied from window to window.
constexpr uint32_t kLongQueue = 128;

// Packets that have not left at `time`, of those that leave one service time after the other until
// `free`.
uint32_t StillThere(Ticks free, Ticks time, Ticks service) {
  return free < time ? 0 : static_cast<uint32_t>((free - time) / service + 1);
}

}  // namespace

// A node between its first and its last packet of the window.
struct OpenNode {
  uint32_t left = 0;  // packets to come
  uint32_t node = 0;
  VirtualPacket* list[2] = {};  // the output lists
  uint32_t rest[2] = {};        // of the queue: stay behind the window
};

class StageBlock::Window {
 public:
  Window(StageBlock& block, const BlockWiring& wiring, NodeState* nodes, const PacketList* in,
         const uint32_t* from, const uint32_t* to, PacketList* out, VirtualPacket* places,
         Ticks end, PacketWord* kept)
      : block_(block),
        wiring_(wiring),
        nodes_(nodes),
        in_(in),
        from_(from),
        to_(to),
        out_(out),
        place_(places),
        end_(end),
        kept_start_(kept),
        kept_(kept) {}

  void Run() {
    int live = 0;
    while (live < kLanes && OpenNext(live)) ++live;
    while (live > 0) {
      uint32_t steps = open_[0].left;
      for (int k = 1; k < live; ++k) steps = std::min(steps, open_[k].left);
      switch (live) {
        case 4:
          RunLanes<4>(lanes_, steps);
          break;
        case 3:
          RunLanes<3>(lanes_, steps);
          break;
        case 2:
          RunLanes<2>(lanes_, steps);
          break;
        default:
          RunLanes<1>(lanes_, steps);
          break;
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

  size_t kept() const { return static_cast<size_t>(kept_ - kept_start_); }

 private:
  // Opens the next node that packets come to as number k, and settles those before it; false if
  // there is none.
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
      const uint32_t waiting = node.waiting[port];
      const uint32_t rest = StillThere(node.free[port], end_, service);
      const uint32_t leaving = waiting - rest;
      Ticks time = node.free[port] - (waiting - Ticks{1}) * service;
      if (LongQueue* long_queue = LongQueueOf(2 * j + port)) [[unlikely]] {
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
      const uint32_t waiting = StillThere(lane.free[port], end_, lane.service[port]);
      // What stays of the old queue is followed by what came and does not leave.
      const uint32_t rest = open.rest[port], more = waiting - rest;
      VirtualPacket* end = lane.out[port] - more;
      if (waiting > kLongQueue || LongQueueOf(link) != nullptr) [[unlikely]] {
        queue += KeepLong(link, node.waiting[port], queue, rest, end, more);
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
      node.waiting[port] = waiting;
      node.packets[port] += departed;
      end->time = kNever;
      out_[to_[link]] = {open.list[port], departed};
    }
  }

  LongQueue* LongQueueOf(size_t link) const {
    return block_.long_.empty() ? nullptr : block_.long_[link].get();
  }

  // Appends `more` packets from `came` to the long queue of a link, which is made of the last
  // `rest` of its `waiting` words at `queue` if there is none. Returns how many words were there.
  uint32_t KeepLong(size_t link, uint32_t waiting, const PacketWord* queue, uint32_t rest,
                    const VirtualPacket* came, uint32_t more) {
    if (block_.long_.empty()) block_.long_.resize(2 * wiring_.nodes());
    std::unique_ptr<LongQueue>& place = block_.long_[link];
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
    for (uint32_t i = 0; i < more; ++i) words.push_back(came[i].word);
    if (rest + more <= kLongQueue / 4) {
      kept_ = std::copy(words.end() - static_cast<ptrdiff_t>(rest + more), words.end(), kept_);
      place.reset();
    }
    return is_new ? waiting : 0;
  }

  StageBlock& block_;
  const BlockWiring& wiring_;
  NodeState* const nodes_;
  const PacketList* const in_;
  const uint32_t* const from_;
  const uint32_t* const to_;
  PacketList* const out_;
  VirtualPacket* place_;
  const Ticks end_;
  PacketWord* const kept_start_;
  PacketWord* kept_;
  size_t next_ = 0;
  OpenNode open_[kLanes];
  FifoLane lanes_[kLanes];
};

void StageBlock::RunWindow(const BlockWiring& wiring, NodeState* nodes, const PacketList* in,
                           const std::vector<uint32_t>& from, const std::vector<uint32_t>& to,
                           PacketList* out, PacketArena& places, Ticks window_end,
                           std::vector<PacketWord>& kept) {
  uint64_t arrivals = 0, leaving = queue_.size();
  for (const uint32_t list : from) arrivals += in[list].count + in[list + 1].count;
  for (size_t link = 0; link < long_.size(); ++link) {
    if (long_[link] == nullptr) continue;
    const NodeState& node = nodes[link / 2];
    leaving +=
        node.waiting[link % 2] - StillThere(node.free[link % 2], window_end, wiring.service[link]);
  }
  // Everything that arrives may go to either port.
  const size_t links = 2 * wiring.nodes();
  VirtualPacket* place = places.Reserve(leaving + 2 * arrivals + links * kStride + kStride);
  const size_t most = queue_.size() + arrivals + kStride + links;
  if (kept.size() < most) kept.resize(most);
  Window window(*this, wiring, nodes, in, from.data(), to.data(), out, place, window_end,
                kept.data());
  window.Run();
  handled_ += arrivals;
  // Copies of whole strides read past the end.
  queue_.assign(kept.data(), kept.data() + window.kept() + kStride);
}

size_t StageBlock::bytes() const {
  size_t sum =
      sizeof(*this) + queue_.capacity() * sizeof(PacketWord) + long_.capacity() * sizeof(long_[0]);
  for (const auto& queue : long_) {
    if (queue) sum += sizeof(*queue) + queue->words.capacity() * sizeof(PacketWord);
  }
  return sum;
}

size_t BlockScratch::bytes() const {
  return arrivals.capacity() * sizeof(VirtualPacket) + packets[0].bytes() + packets[1].bytes() +
         kept.capacity() * sizeof(PacketWord) +
         (in.capacity() + out.capacity()) * sizeof(PacketList);
}

}  // namespace bfly::dataplane
