// SPDX-License-Identifier: Apache-2.0
// Greedy routing with queues, in exact steps. Waves (waves.h) are compared with it.
//
// All packets stand at their inputs when step 0 begins. A node has a queue for each direction,
// first come first served. Packets that come in one step join the queue in the order of the rows
// that they come from. In a step a node sends the first c packets of each queue, or all if there
// are fewer, where c = multiplicity. The k-th of these packets leaves over port (step + k) mod c of
// the direction. Outputs take every packet. A node behind the inputs refuses packets while it holds
// `queue` of them, and packets that it sends in the same step still count. A packet that is refused
// stays where it is in its queue.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/steps/step_clock.h"
#include "topologies/crew.h"
#include "topologies/network.h"

namespace bfly::dataplane {

inline constexpr uint64_t kMaxGreedyPackets = uint64_t{1} << 28;  // 8 bytes each

struct GreedyConfig {
  // The outputs of the packets of input 0 in the order of the packets, then of the packets of input
  // 1, and so on. Every input has the same number of packets. At most kMaxGreedyPackets in total.
  std::vector<Row> destinations;
  uint32_t queue = 0;       // 0: no limit
  uint64_t step_limit = 0;  // 0: no limit. Every run ends, because every step moves a packet
};

struct GreedyResult {
  uint64_t packets = 0;
  uint64_t delivered = 0;
  uint64_t moves = 0;  // links crossed
  uint64_t steps = 0;
  double mean_latency = 0;     // steps from the beginning of the run, over the packets delivered
  uint32_t longest_queue = 0;  // the most packets that a node behind the inputs held after a step
  StepEnd end = StepEnd::kDone;
};

// Greedy routing is defined on the same networks as waves (waves.h). InvalidArgument says why the
// network cannot be used.
absl::Status CheckGreedyNetwork(const Network& network);

// Results do not depend on the number of workers. At most two workers share the work.
// InvalidArgument names the wrong field.
absl::StatusOr<GreedyResult> RunGreedy(const Network& network, const GreedyConfig& config,
                                       Crew& crew);

}  // namespace bfly::dataplane
