// SPDX-License-Identifier: Apache-2.0
// Slotted traffic drawn beforehand, so that drawing it is no part of what is measured.
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

// In each step every row injects a packet with probability `load`, to a uniform row. As many steps
// as give about `packets` packets, at least one.
StepTraffic DrawStepTraffic(const Network& network, double load, uint32_t packets, uint64_t seed);

struct LoopSpeed {
  double hops_per_second = 0;
  double hops_per_cpu_second = 0;
};
// A plain loop on this thread: a queue for each link, one packet a link and step, links in turn.
LoopSpeed MeasurePlainLoop(const Network& network, const StepTraffic& traffic, double seconds);

}  // namespace bfly::dataplane
