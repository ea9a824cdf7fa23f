// SPDX-License-Identifier: Apache-2.0
// From a placement of stages to what each worker runs. Pure.
#pragma once

#include <vector>

#include "dataplane/core/config.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Consecutive hops one worker runs to completion, burst by burst. Hops, not stages: a wrapped
// butterfly of two passes is unrolled, so that what comes round again is an ordinary later segment
// and packets only ever move to later segments. With that, backpressure cannot go in a circle.
struct SegmentPlan {
  int worker = 0;  // index into FabricPlan::lcores
  int first_hop = 0;
  int hops = 0;
};

struct FabricPlan {
  std::vector<int> lcores;  // of worker 0, 1, ...: in order of the first stage each runs, then
                            // lcores that only poll port queues, ascending
  std::vector<SegmentPlan> segments;  // in hop order; neighbours have different workers
  int first_stage = 0;                // stages of this data plane: a contiguous range
  int last_stage = -1;

  int worker_of_lcore(int lcore) const;
  bool has_first_hop() const { return first_stage == 0; }
};

// `config` has passed Fabric::Verify.
FabricPlan PlanFabric(const FabricConfig& config, const Network& network);

}  // namespace bfly::dataplane
