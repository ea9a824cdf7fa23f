// SPDX-License-Identifier: Apache-2.0
// Works out what each worker runs from a placement of stages and rows. Its functions are pure.
#pragma once

#include <vector>

#include "dataplane/core/config.h"
#include "dataplane/core/row_range.h"
#include "topologies/network.h"

namespace bfly::dataplane {

// Rows of one stage. One worker runs them, and is the only writer of the links that leave them.
struct BlockPlan {
  int worker = 0;  // index into FabricPlan::lcores
  RowRange rows;
  friend bool operator==(const BlockPlan&, const BlockPlan&) = default;
};

// Consecutive hops that one worker carries a batch over, all with the same block of rows: every
// hop but the last leads from the block's rows into these rows and nowhere else, and no other rows
// lead into them. Hops, not stages: a wrapped butterfly of two passes is unrolled, so that what
// comes round again is an ordinary later segment and packets only ever move to later segments. With
// that, backpressure cannot go in a circle.
struct SegmentPlan {
  int worker = 0;
  int first_hop = 0;
  int hops = 0;
  RowRange rows = {};
  int end() const { return first_hop + hops; }
};

struct FabricPlan {
  std::vector<int> lcores;  // of worker 0, 1, ...: in order of the first stage each runs, then
                            // lcores that only poll port queues, ascending
  std::vector<SegmentPlan> segments;  // by first hop, then by rows
  int first_stage = 0;                // stages of this data plane: a contiguous range
  int last_stage = -1;
  // blocks[i] are the row blocks of stage first_stage + i in ascending order. Every row is in one
  // of them, and neighbours have different workers.
  std::vector<std::vector<BlockPlan>> blocks;

  int worker_of_lcore(int lcore) const;
  bool has_first_hop() const { return first_stage == 0; }
  const std::vector<BlockPlan>& blocks_of(int stage) const { return blocks[stage - first_stage]; }
  int worker_of(int stage, Row row) const;
  // The workers that use the queue pairs of a port whose rows are at `stage`, by queue pair: those
  // of the port's lcores in turn, or where it names none, those of its rows in turn.
  std::vector<int> PollersOf(const HostPortConfig& port, int stage) const;
  // The queue pair of each row of a port, in their order: the first one whose worker has the row at
  // `stage`, or -1 if there is none. If only one of the workers has such rows, the row says nothing
  // about the queue pair, and all are -1.
  std::vector<int> QueuesOfRows(const HostPortConfig& port, int stage) const;
  // Index of the segment that begins at the node `row` of `hop`.
  int segment_from(int hop, Row row) const;
};

// Hops of a segment that a batch crosses in one step where that is possible (fused_stages.h).
struct FusedPlan {
  int first_hop = 0;
  int hops = 0;
  friend bool operator==(const FusedPlan&, const FusedPlan&) = default;
};

// Splits the first `hops` hops of a segment into runs of 2..most hops whose lengths differ as
// little as possible. A run does not go over the end of a pass, so that every pass has the same
// runs where it begins with a segment. A hop that is left alone is in no run.
std::vector<FusedPlan> PlanFused(const Network& network, const SegmentPlan& segment, int hops,
                                 int most);

// `config` has passed Fabric::Verify.
FabricPlan PlanFabric(const FabricConfig& config, const Network& network);

}  // namespace bfly::dataplane
