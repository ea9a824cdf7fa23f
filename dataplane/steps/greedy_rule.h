// SPDX-License-Identifier: Apache-2.0
// What one node does in a step of greedy routing (greedy.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "dataplane/steps/step_rule.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// A packet of the run. The node that holds the packet has it in one of its two queues.
struct GreedyPacket {
  Row destination = 0;
  uint32_t next = 0;  // the packet behind this one in the queue
};

// kLimited: nodes behind the inputs refuse packets while they hold as many as they may.
template <bool kLimited>
class GreedyRule {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // A queue for each direction. first and last are indices of packets.
  struct Queues {
    uint32_t first[kDirections] = {kNone, kNone};
    uint32_t last[kDirections] = {kNone, kNone};
    uint32_t held = 0;  // packets, including packets on their way to a head that may refuse them
  };
  struct LimitedQueues : Queues {
    uint32_t back[kDirections] = {kNone, kNone};  // the packet that came back last in this step
    uint32_t refused = kNone;                     // the packet that came last, if it was refused
  };
  using Node = std::conditional_t<kLimited, LimitedQueues, Queues>;
  struct Message {
    uint32_t packet;
    Row destination;
  };
  // The packet if the head refuses it, otherwise kNone.
  using Answer = std::conditional_t<kLimited, uint32_t, NoAnswer>;
  struct Tally : StepTally {
    uint64_t delivered = 0;
    uint64_t latency_sum = 0;
    uint32_t longest = 0;
    void operator+=(const Tally& other) {
      StepTally::operator+=(other);
      delivered += other.delivered;
      latency_sum += other.latency_sum;
      longest = std::max(longest, other.longest);
    }
  };
  static constexpr bool kAnswersAtOnce = kLimited;

  // `packets` outlives the rule; nodes link the packets that they hold. `limit` is how many packets
  // a node behind the inputs may hold.
  GreedyRule(const Network& network, std::vector<GreedyPacket>& packets, uint32_t limit)
      : levels_(network.dimension()),
        degree_(static_cast<uint32_t>(network.multiplicity())),
        packets_(packets.data()),
        limit_(limit) {}

  // Puts a packet of an input at the end of its queue, before the run.
  void Hold(Node& input, uint32_t packet) const {
    Append(input, DirectionOf(0, packets_[packet].destination), packet);
    ++input.held;
  }

  int Active(const At&, const Node& node) const { return node.held != 0; }

  template <typename Out>
  void Send(const At& at, Node& node, Out& out) const {
    if constexpr (kLimited) std::fill_n(node.back, kDirections, kNone);
    for (uint32_t direction = 0; direction < kDirections; ++direction) {
      uint32_t port = FirstPort(at.step);
      for (uint32_t sent = 0; sent < degree_; ++sent) {
        const uint32_t packet = node.first[direction];
        if (packet == kNone) break;
        // The packet belongs to the head from Put until the head refuses it.
        node.first[direction] = packets_[packet].next;
        if constexpr (!kLimited) --node.held;
        out.Put(static_cast<int>(direction * degree_ + port),
                {packet, packets_[packet].destination});
        if (++port == degree_) port = 0;
      }
    }
  }

  void Receive(const At& at, Node& node, const InLink&, const Message& message,
               Tally& tally) const {
    if constexpr (kLimited) {
      const bool refuses = at.level < levels_ && node.held >= limit_;
      node.refused = refuses ? message.packet : kNone;
      if (refuses) return;
    }
    ++tally.moves;
    if (at.level == levels_) {
      ++tally.delivered;
      tally.latency_sum += at.step + 1;
      return;
    }
    Append(node, DirectionOf(at.level, message.destination), message.packet);
    ++node.held;
    if constexpr (!kLimited) tally.longest = std::max(tally.longest, node.held);
  }

  Answer Reply(const At&, const Node& node, const InLink&, const Message&) const requires kLimited {
    return node.refused;
  }

  // Packets that come back stand before all other packets, in the order in which they left.
  void Settle(const At&, Node& node, int port, const Answer& refused,
              Tally&) const requires kLimited {
    if (refused == kNone) {
      --node.held;
      return;
    }
    const uint32_t direction = static_cast<uint32_t>(port) / degree_;
    uint32_t& back = node.back[direction];
    uint32_t& before = back == kNone ? node.first[direction] : packets_[back].next;
    if (before == kNone) node.last[direction] = refused;
    packets_[refused].next = before;
    before = refused;
    back = refused;
  }

  void End(const At& at, const Node& node, Tally& tally) const requires kLimited {
    if (at.level > 0) tally.longest = std::max(tally.longest, node.held);
  }

 private:
  uint32_t FirstPort(uint64_t step) const {
    return degree_ == 1 ? 0 : static_cast<uint32_t>(step % degree_);
  }
  uint32_t DirectionOf(int level, Row destination) const {
    return destination >> (levels_ - 1 - level) & 1;
  }
  void Append(Node& node, uint32_t direction, uint32_t packet) const {
    packets_[packet].next = kNone;
    if (node.first[direction] == kNone) {
      node.first[direction] = packet;
    } else {
      packets_[node.last[direction]].next = packet;
    }
    node.last[direction] = packet;
  }

  int levels_;
  uint32_t degree_;
  GreedyPacket* packets_;
  uint32_t limit_;
};

}  // namespace bfly::dataplane
