// SPDX-License-Identifier: Apache-2.0
// Slotted traffic that is drawn before the measurement.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/network.h"

namespace bfly::dataplane {

struct StepTraffic {
  struct Packet {
    Row input;
    Row output;
  };
  std::vector<Packet> packets;
  std::vector<uint32_t> step_end;  // packets of step s: [step_end[s - 1], step_end[s])
};

// In each step every row injects a packet with probability `load`, to a uniform row. The number of
// steps, at least one, gives about `packets` packets.
StepTraffic DrawStepTraffic(const Network& network, double load, uint32_t packets, uint64_t seed);

struct LoopSpeed {
  double hops_per_second = 0;
  double hops_per_cpu_second = 0;
  double hops_per_step = 0;
};
// Runs a plain loop on this thread. It has a queue for each link, serves the links in turn, and
// sends one packet over each link in each step. `seconds` are measured after two steps for each
// stage, which fill the network.
LoopSpeed MeasurePlainLoop(const Network& network, const StepTraffic& traffic, double seconds);

}  // namespace bfly::dataplane
