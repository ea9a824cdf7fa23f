// SPDX-License-Identifier: Apache-2.0
// Greedy store-and-forward routing with little room at the switches, around faulty switches, as
// Leighton and Maggs measured it (Fast algorithms for routing around faults in multibutterflies and
// randomly-wired splitter networks, 1992).
//
// All switches act at the same time. In a step a switch sends at most one packet over each link,
// and over a link only if the switch at its end held at most `buffer` packets at the end of the
// step before. It sends as many packets as it can, in the order in which they came. If several
// ports of a packet's direction are left, the network's rule picks one. Outputs take every packet.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"
#include "topologies/traffic_pattern.h"

namespace bfly::dataplane {

struct StoreAndForwardConfig {
  // The outputs of the packets of each input.
  TrafficPatternSpec traffic = {.name = "randperm"};
  // h: how many packets an input has. All packets stand at the inputs when the run begins.
  uint32_t packets = 1;
  uint32_t buffer = 4;
  uint64_t seed = 0;  // the seed of the port rule `random`
  int workers = 1;    // threads that share the rows, 1 to kMaxStoreAndForwardWorkers
  // The run calls this now and then. If it returns true, the run ends with Cancelled. May be empty.
  std::function<bool()> interrupted = {};
};

inline constexpr int kMaxStoreAndForwardWorkers = 256;
inline constexpr uint64_t kMaxStoreAndForwardPackets = uint64_t{1} << 24;
inline constexpr uint64_t kMaxStoreAndForwardSwitches = uint64_t{1} << 22;

struct StoreAndForwardResult {
  uint64_t packets = 0;  // packets of all inputs
  // Packets of inputs that count as faulty (topologies/faulty_switches.h), or for outputs that no
  // input reaches. Such packets are not sent.
  uint64_t left_out = 0;
  uint64_t delivered = 0;  // packets - left_out
  uint64_t steps = 0;      // until the last packet was delivered
  // Steps from the start of the run until a packet is delivered, over the packets delivered.
  double mean_latency = 0;
  uint64_t max_latency = 0;
  uint32_t longest_queue = 0;  // the most packets that a switch behind the inputs held after a step
  uint64_t faulty_switches = 0;  // switches that are not down, but faulty by the rule
};

// InvalidArgument names the field, its value and what would be right.
absl::Status CheckStoreAndForward(const Network& network, const StoreAndForwardConfig& config);

// The network is a butterfly without extra stages, a dilated or a randomly-wired butterfly, or a
// multibutterfly. `faults` is about the same network. A packet that is sent meets only sound
// switches, and each of them has a port for it.
//
// `latencies`, if given, gets the latency of packet k of input i at [i * packets + k], 0 if the
// packet was left out.
absl::StatusOr<StoreAndForwardResult> RunStoreAndForward(
    const Network& network, const FaultSet& faults, const StoreAndForwardConfig& config,
    std::vector<uint32_t>* latencies = nullptr);

}  // namespace bfly::dataplane
