// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/stage_block.h"

#include <algorithm>

#include "dataplane/virtual_clock/fifo_lane.h"

namespace bfly::dataplane {
namespace {

// A node's lane with the places its two output lists were given.
struct Node {
  FifoLane lane;
  uint32_t packets;
  VirtualPacket* list[2];
};

}  // namespace

StageBlock::StageBlock(size_t nodes) : free_(2 * nodes), waiting_(2 * nodes), packets_(2 * nodes) {}

void StageBlock::RunWindow(const BlockWiring& wiring, const Boundary& in, size_t in_base,
                           Boundary& out, size_t out_base, Ticks window_end,
                           std::vector<VirtualPacket>& scratch) {
  const size_t nodes = wiring.nodes();
  uint64_t arrivals = 0;
  for (const uint32_t first : wiring.in) {
    arrivals += in.count(in_base + first) + in.count(in_base + first + 1);
  }
  // Everything that waits or arrives may go to either port, and each list needs its end mark.
  VirtualPacket* place = out.Reserve(queued_.size() + 2 * arrivals + 2 * nodes);
  if (scratch.size() < queued_.size() + arrivals) scratch.resize(queued_.size() + arrivals);
  VirtualPacket* kept = scratch.data();
  const VirtualPacket* queue = queued_.data();

  const auto open = [&](size_t j, Node& node) {
    const size_t list = in_base + wiring.in[j];
    node.packets = in.count(list) + in.count(list + 1);
    node.lane.first = in.begin(list);
    node.lane.second = in.begin(list + 1);
    node.lane.delay = 0;
    for (size_t port = 0; port < 2; ++port) {
      const size_t link = 2 * j + port;
      node.lane.free[port] = free_[link];
      node.lane.service[port] = wiring.service[link];
      node.list[port] = place;
      node.lane.out[port] = std::copy_n(queue, waiting_[link], place);
      queue += waiting_[link];
      place += waiting_[link] + node.packets + 1;
    }
  };
  const auto close = [&](size_t j, const Node& node) {
    delay_sum_ += node.lane.delay;
    for (size_t port = 0; port < 2; ++port) {
      const size_t link = 2 * j + port;
      free_[link] = node.lane.free[port];
      VirtualPacket* end = node.lane.out[port];
      VirtualPacket* departed = end;
      while (departed > node.list[port] && departed[-1].time >= window_end) --departed;
      kept = std::copy(departed, end, kept);
      waiting_[link] = static_cast<uint32_t>(end - departed);
      packets_[link] += static_cast<uint64_t>(departed - node.list[port]);
      out.Set(out_base + wiring.out[link], node.list[port], departed);
    }
  };

  Node a, b;
  for (size_t j = 0; j + 1 < nodes; j += 2) {
    open(j, a);
    open(j + 1, b);
    RunLanes(a.lane, a.packets, b.lane, b.packets);
    close(j, a);
    close(j + 1, b);
  }
  handled_ += arrivals;
  queued_.assign(scratch.data(), kept);
}

}  // namespace bfly::dataplane
