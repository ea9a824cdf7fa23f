// SPDX-License-Identifier: Apache-2.0
// What a switch does under store_and_forward.h, as a step rule. A step of the model is two steps of
// the clock: in the first one switches that hold packets ask what the switches behind their links
// hold, and in the second one they send. No switch sends in between, so a switch answers with what
// it held at the end of the model's previous step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "dataplane/steps/step_rule.h"
#include "topologies/network.h"
#include "topologies/port_rule.h"
#include "topologies/random.h"

namespace bfly::dataplane {

class StoreAndForwardRule {
 public:
  static constexpr uint32_t kAsk = std::numeric_limits<uint32_t>::max();

  struct Node {
    std::vector<uint32_t> packets;    // in the order of arrival
    std::vector<uint32_t> held;       // for each port: how many packets the switch at its end holds
    uint32_t turn[kDirections] = {};  // the next port within the direction
  };
  using Message = uint32_t;   // a packet, or kAsk
  using Answer = uint32_t;    // how many packets the head holds
  struct Tally : StepTally {  // a move is a packet that crosses a link
    uint64_t delivered = 0;
    uint64_t latency_sum = 0;
    uint64_t max_latency = 0;
    uint32_t longest_queue = 0;
    void operator+=(const Tally& other) {
      StepTally::operator+=(other);
      delivered += other.delivered;
      latency_sum += other.latency_sum;
      max_latency = std::max(max_latency, other.max_latency);
      longest_queue = std::max(longest_queue, other.longest_queue);
    }
  };

  // outputs[packet] is where a packet goes. usable[link_index] says whether packets may take a
  // link. latencies[packet] is set when the packet is delivered. All three outlive the rule.
  StoreAndForwardRule(const Network& network, uint32_t buffer, uint64_t seed,
                      const std::vector<Row>& outputs, const std::vector<bool>& usable,
                      std::vector<uint32_t>& latencies)
      : network_(network),
        buffer_(buffer),
        seed_(seed),
        outputs_(outputs),
        usable_(usable),
        latencies_(latencies) {}

  int Active(const At& at, const Node& node) const {
    return at.level < network_.hops() && !node.packets.empty();
  }

  template <typename Out>
  void Send(const At& at, Node& node, Out& out) const {
    if (IsToAsk(at)) {
      node.held.assign(static_cast<size_t>(network_.ports()), kNotUsable);
      for (int port = 0; port < network_.ports(); ++port) {
        if (usable_[network_.link_index({at.level, at.row, port})]) out.Put(port, kAsk);
      }
      return;
    }
    const uint32_t mask = network_.wiring(at.level).mask;
    // Packets that stay move to the front.
    size_t stay = 0;
    for (size_t i = 0; i < node.packets.size(); ++i) {
      const uint32_t packet = node.packets[i];
      const int port = PortFor(at, node, (outputs_[packet] & mask) != 0);
      if (port < 0) {
        node.packets[stay++] = packet;
        continue;
      }
      node.held[static_cast<size_t>(port)] = kNotUsable;  // one packet a step
      out.Put(port, packet);
    }
    node.packets.resize(stay);
  }

  void Receive(const At& at, Node& node, const InLink&, const Message& message,
               Tally& tally) const {
    if (message == kAsk) return;
    ++tally.moves;
    if (at.level < network_.hops()) {
      node.packets.push_back(message);
      tally.longest_queue =
          std::max(tally.longest_queue, static_cast<uint32_t>(node.packets.size()));
      return;
    }
    const uint64_t latency = at.step / 2 + 1;
    latencies_[message] = static_cast<uint32_t>(latency);
    ++tally.delivered;
    tally.latency_sum += latency;
    tally.max_latency = std::max(tally.max_latency, latency);
  }

  Answer Reply(const At&, const Node& node, const InLink&, const Message&) const {
    return static_cast<uint32_t>(node.packets.size());  // outputs keep no packets
  }
  void Settle(const At& at, Node& node, int port, const Answer& answer, Tally&) const {
    if (IsToAsk(at)) node.held[static_cast<size_t>(port)] = answer;
  }

 private:
  static constexpr uint32_t kNotUsable = std::numeric_limits<uint32_t>::max();

  static bool IsToAsk(const At& at) { return at.step % 2 == 0; }

  // The port by which the next packet of the direction leaves; -1 if no port is left.
  int PortFor(const At& at, Node& node, int direction) const {
    const int ports = network_.multiplicity();
    const int first = direction * ports;
    uint32_t start = 0;
    if (network_.rule() == PortRule::kRoundRobin) start = node.turn[direction];
    if (network_.rule() == PortRule::kRandom) start = RandomStart(at, direction);
    int best = -1;
    for (int i = 0; i < ports; ++i) {
      const int port = first + static_cast<int>((start + static_cast<uint32_t>(i)) %
                                                static_cast<uint32_t>(ports));
      const uint32_t held = node.held[static_cast<size_t>(port)];
      if (held == kNotUsable || held > buffer_) continue;
      if (best >= 0 && held >= node.held[static_cast<size_t>(best)]) continue;
      best = port;
      if (network_.rule() != PortRule::kLeastOccupied) break;
    }
    if (best >= 0) node.turn[direction] = static_cast<uint32_t>(best - first + 1);
    return best;
  }

  uint32_t RandomStart(const At& at, int direction) const {
    const uint64_t node = static_cast<uint64_t>(at.level) * network_.rows() + at.row;
    return RandomBelow(seed_, RandomStream::kStepPorts,
                       (at.step << 32 | node << 1 | static_cast<uint32_t>(direction)),
                       static_cast<uint32_t>(network_.multiplicity()));
  }

  const Network& network_;
  const uint32_t buffer_;
  const uint64_t seed_;
  const std::vector<Row>& outputs_;
  const std::vector<bool>& usable_;
  std::vector<uint32_t>& latencies_;
};

}  // namespace bfly::dataplane
