// SPDX-License-Identifier: Apache-2.0
// Works out what each worker runs from a placement of stages and rows. Its functions are pure.
#pragma once

#include <cstddef>
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

// The most blocks of a stage. Every block of every stage may become a segment.
inline constexpr size_t kMostBlocks = 1024;

// Consecutive hops over which one worker carries a batch, all with the same block of rows: every
// hop except the last leads from the block's rows into these rows and nowhere else, and no other
// rows lead into them. A segment has hops, not stages: a wrapped butterfly of two passes is
// unrolled, so that a stage that is crossed again is in an ordinary later segment, and packets only
// move to later segments. Therefore backpressure cannot go in a circle.
struct SegmentPlan {
  int worker = 0;
  int first_hop = 0;
  int hops = 0;
  RowRange rows = {};
  int end() const { return first_hop + hops; }
};

struct FabricPlan {
  std::vector<int> lcores;  // the lcores of worker 0, 1, ...: in the order of the first stage that
                            // each runs, then lcores that only poll port queues, ascending
  std::vector<SegmentPlan> segments;  // ordered by first hop, then by rows
  int first_stage = 0;                // stages of this data plane: a contiguous range
  int last_stage = -1;
  // blocks[i] are the row blocks of stage first_stage + i in ascending order. Every row is in one
  // of these blocks, and neighbouring blocks have different workers.
  std::vector<std::vector<BlockPlan>> blocks;

  int worker_of_lcore(int lcore) const;
  bool has_first_hop() const { return first_stage == 0; }
  const std::vector<BlockPlan>& blocks_of(int stage) const { return blocks[stage - first_stage]; }
  int worker_of(int stage, Row row) const;
  // For each queue pair of a port whose rows are at `stage`: the worker that uses it. These are the
  // workers of the port's lcores in turn or, if the port names no lcores, the workers of its rows
  // in turn.
  std::vector<int> PollersOf(const HostPortConfig& port, int stage) const;
  // For each row of a port, in the order of the rows: the first queue pair whose worker has the row
  // at `stage`, or -1 if there is no such queue pair. If only one of the workers has such rows, the
  // row does not determine the queue pair, and all entries are -1.
  std::vector<int> QueuesOfRows(const HostPortConfig& port, int stage) const;
  // The index of the segment that begins at the node `row` of `hop`, or -1 if none begins there.
  int segment_from(int hop, Row row) const;
};

// Hops of a segment that a batch crosses in one step where that is possible (fused_stages.h).
struct FusedPlan {
  int first_hop = 0;
  int hops = 0;
  friend bool operator==(const FusedPlan&, const FusedPlan&) = default;
};

// Splits the first `hops` hops of a segment into runs of 2..most hops whose lengths differ as
// little as possible. A run does not cross the end of a pass, so that all passes that begin with a
// segment have the same runs. A hop that is left alone is in no run.
std::vector<FusedPlan> PlanFused(const Network& network, const SegmentPlan& segment, int hops,
                                 int most);

// `config` has passed Fabric::Verify.
FabricPlan PlanFabric(const FabricConfig& config, const Network& network);

}  // namespace bfly::dataplane
