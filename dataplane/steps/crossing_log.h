// SPDX-License-Identifier: Apache-2.0
// When the packets of a program crossed which links. Every figure of waiting and congestion in a
// report is counted from this log, in the same way for every program.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/steps/packet_traffic.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct Crossing {
  uint32_t step = 0;  // the step in which the packet crossed the link, counted from 1; 0: the
                      // packet has not crossed it
  uint32_t link = 0;  // within the stage: row of the tail * ports + port
};

// A packet crosses each hop at most once. Different threads may note crossings of different packets
// at the same time. The thread that runs a part of a block notes the crossings of the links that
// leave the block.
class CrossingLog {
 public:
  // The memory that a log takes.
  static uint64_t Bytes(const Network& network, uint64_t packets) {
    return packets * (static_cast<uint64_t>(network.hops()) * sizeof(Crossing) + sizeof(uint32_t));
  }

  // The network outlives the log. Every call is passed on to `traffic`, which may be null.
  CrossingLog(const Network& network, uint64_t packets, PacketTraffic* traffic = nullptr)
      : network_(network),
        traffic_(traffic),
        packets_(packets),
        crossings_(packets * static_cast<uint64_t>(network.hops())),
        begins_(packets, kNever) {}

  const Network& network() const { return network_; }
  uint64_t packets() const { return packets_; }

  // Sets how many steps were over before step 0 of the steps that Begin and Cross are given from
  // now on. A program may take several runs of a clock, one after the other.
  void set_steps_before(uint64_t steps) { steps_before_ = steps; }

  // The packet stands at its input from the end of `step` on.
  void Begin(uint64_t packet, Row input, uint64_t step) {
    begins_[packet] = static_cast<uint32_t>(steps_before_ + step);
    if (traffic_ != nullptr) traffic_->Begin(packet, input);
  }
  // `step` is counted from 1.
  void Cross(uint64_t packet, int hop, Row tail, int port, uint64_t step) {
    crossings_[static_cast<uint64_t>(hop) * packets_ + packet] = {
        static_cast<uint32_t>(steps_before_ + step),
        tail * static_cast<uint32_t>(network_.ports()) + static_cast<uint32_t>(port)};
    if (traffic_ != nullptr) traffic_->Cross(packet, hop, tail, port, steps_before_ + step);
  }

  bool has_begun(uint64_t packet) const { return begins_[packet] != kNever; }
  uint32_t begin(uint64_t packet) const { return begins_[packet]; }
  const Crossing& at(int hop, uint64_t packet) const {
    return crossings_[static_cast<uint64_t>(hop) * packets_ + packet];
  }

 private:
  static constexpr uint32_t kNever = UINT32_MAX;

  const Network& network_;
  PacketTraffic* const traffic_;
  const uint64_t packets_;
  uint64_t steps_before_ = 0;
  std::vector<Crossing> crossings_;  // ordered by hop, then by packet
  std::vector<uint32_t> begins_;
};

}  // namespace bfly::dataplane
