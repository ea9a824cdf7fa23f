// SPDX-License-Identifier: Apache-2.0
// What a node does under extra_stages.h, as a step rule. A node offers the head of a queue to the
// node behind the link, which takes it if the link's buffer was empty at the start of the step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "dataplane/steps/extra_stages.h"
#include "dataplane/steps/step_rule.h"
#include "topologies/network.h"

namespace bfly::dataplane {

class ExtraStagesRule {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // A packet in a queue. `packet` is its place among PacketsOf.
  struct Waiting {
    uint64_t priority = 0;
    uint32_t arrival = 0;  // the number of this arrival at the queue
    uint32_t packet = 0;
  };
  // A heap; the packet that goes next is at its top.
  struct Queue {
    std::vector<Waiting> waiting;
    uint32_t arrivals = 0;
  };
  // A buffer has the number of its link's tail: 0 for the tail in the lower row.
  struct Node {
    Queue queues[kDirections];
    uint32_t buffers[2] = {kNone, kNone};
    // The packet that goes to the buffer at the end of the step.
    uint32_t coming[2] = {kNone, kNone};
    // kOneArrival: which buffer goes first when both want the queue.
    uint8_t first[kDirections] = {};
    // kOneArrival at inputs: packets that are not in a queue yet, the last packet first.
    std::vector<uint32_t> outside;
  };
  using Message = uint32_t;   // a packet
  using Answer = bool;        // whether the head took the packet
  struct Tally : StepTally {  // a move is a packet that crosses a link or leaves a buffer
    uint64_t delivered = 0;
    void operator+=(const Tally& other) {
      StepTally::operator+=(other);
      delivered += other.delivered;
    }
  };

  // crossings[hop * packets.size() + number] gets the step, counted from 1, in which a packet
  // crosses a link. All references outlive the rule.
  ExtraStagesRule(const Network& network, NodeModel model, const std::vector<ExtraPacket>& packets,
                  std::vector<uint32_t>& crossings)
      : network_(network), model_(model), packets_(packets), crossings_(crossings) {}

  // Puts a packet into the queue of its next link.
  void Enter(int level, Node& node, uint32_t packet) const {
    Queue& queue = node.queues[Direction(packet, level)];
    queue.waiting.push_back({packets_[packet].priority, queue.arrivals++, packet});
    std::push_heap(queue.waiting.begin(), queue.waiting.end(), GoesLater);
  }

  int Active(const At& at, const Node& node) const {
    return at.level < network_.hops() &&
           (!node.queues[0].waiting.empty() || !node.queues[1].waiting.empty() ||
            node.buffers[0] != kNone || node.buffers[1] != kNone || node.coming[0] != kNone ||
            node.coming[1] != kNone || !node.outside.empty());
  }

  template <typename Out>
  void Send(const At&, Node& node, Out& out) const {
    for (int port = 0; port < kDirections; ++port) {
      const std::vector<Waiting>& waiting = node.queues[port].waiting;
      if (!waiting.empty()) out.Put(port, waiting.front().packet);
    }
  }

  void Receive(const At& at, Node& node, const InLink& link, const Message& packet,
               Tally& tally) const {
    if (at.level < network_.hops()) {
      const size_t buffer = BufferOf(at, link);
      if (node.buffers[buffer] != kNone) return;
      node.coming[buffer] = packet;
    } else {
      ++tally.delivered;
    }
    ++tally.moves;
    crossings_[static_cast<size_t>(at.level - 1) * packets_.size() + packets_[packet].number] =
        static_cast<uint32_t>(at.step + 1);
  }

  Answer Reply(const At& at, const Node& node, const InLink& link, const Message& packet) const {
    return at.level == network_.hops() || node.coming[BufferOf(at, link)] == packet;
  }

  void Settle(const At&, Node& node, int port, const Answer& taken, Tally&) const {
    if (!taken) return;
    std::vector<Waiting>& waiting = node.queues[port].waiting;
    std::pop_heap(waiting.begin(), waiting.end(), GoesLater);
    waiting.pop_back();
  }

  void End(const At& at, Node& node, Tally& tally) const {
    if (model_ == NodeModel::kHalfRate) {
      for (uint32_t& buffer : node.buffers) Leave(at, node, buffer, tally);
    } else {
      LeaveOneByOne(at, node, tally);
      if (!node.outside.empty()) {
        Enter(at.level, node, node.outside.back());
        node.outside.pop_back();
        ++tally.moves;
      }
    }
    for (size_t buffer = 0; buffer < 2; ++buffer) {
      if (node.coming[buffer] == kNone) continue;
      node.buffers[buffer] = std::exchange(node.coming[buffer], kNone);
    }
  }

 private:
  static bool GoesLater(const Waiting& a, const Waiting& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.arrival > b.arrival;
  }
  int Direction(uint32_t packet, int level) const { return packets_[packet].path >> level & 1; }
  size_t BufferOf(const At& at, const InLink& link) const {
    return (link.tail & network_.wiring(at.level - 1).mask) != 0;
  }

  void Leave(const At& at, Node& node, uint32_t& buffer, Tally& tally) const {
    if (buffer == kNone) return;
    Enter(at.level, node, std::exchange(buffer, kNone));
    ++tally.moves;
  }

  // If both buffers want the same queue, they take turns.
  void LeaveOneByOne(const At& at, Node& node, Tally& tally) const {
    uint32_t& lower = node.buffers[0];
    uint32_t& upper = node.buffers[1];
    if (lower == kNone || upper == kNone ||
        Direction(lower, at.level) != Direction(upper, at.level)) {
      Leave(at, node, lower, tally);
      Leave(at, node, upper, tally);
      return;
    }
    uint8_t& first = node.first[Direction(lower, at.level)];
    Leave(at, node, node.buffers[first], tally);
    first = 1 - first;
  }

  const Network& network_;
  const NodeModel model_;
  const std::vector<ExtraPacket>& packets_;
  std::vector<uint32_t>& crossings_;
};

// RunExtraStages by the step clock, for every model of a node.
absl::StatusOr<ExtraStagesResult> RunExtraStagesInSteps(const Network& network,
                                                        const ExtraStagesConfig& config,
                                                        std::vector<uint32_t>* crossings = nullptr);

}  // namespace bfly::dataplane
