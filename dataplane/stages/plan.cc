// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/plan.h"

#include <algorithm>
#include <set>

namespace bfly::dataplane {
namespace {

struct PlacedRows {
  RowRange rows;
  int lcore;
};

// Returns the blocks of rows of each stage and the workers that run them. A stage that another data
// plane runs has no blocks. Neighbours on one lcore are one block.
std::vector<std::vector<PlacedRows>> PlacedByStage(const FabricConfig& config,
                                                   const Network& network) {
  std::vector<std::vector<PlacedRows>> placed(network.stages());
  for (const StagePlacement& p : config.placement) {
    const RowRange rows = {p.rows.first, std::min(p.rows.last, network.rows() - 1)};
    for (int s = p.first_stage; s <= p.last_stage; ++s) placed[s].push_back({rows, p.lcore});
  }
  for (std::vector<PlacedRows>& of_stage : placed) {
    std::sort(of_stage.begin(), of_stage.end(),
              [](const PlacedRows& a, const PlacedRows& b) { return a.rows.first < b.rows.first; });
    std::vector<PlacedRows> joined;
    for (const PlacedRows& next : of_stage) {
      if (!joined.empty() && joined.back().lcore == next.lcore) {
        joined.back().rows.last = next.rows.last;
      } else {
        joined.push_back(next);
      }
    }
    of_stage = std::move(joined);
  }
  return placed;
}

size_t BlockOf(const std::vector<BlockPlan>& blocks, Row row) {
  const auto behind = std::upper_bound(
      blocks.begin(), blocks.end(), row,
      [](Row wanted, const BlockPlan& block) { return wanted < block.rows.first; });
  return static_cast<size_t>(behind - blocks.begin()) - 1;
}

// Tells for each block of a stage whether its links lead only into its own rows of the next level,
// and no other links lead there.
std::vector<bool> ClosedBlocks(const Network& network, int stage,
                               const std::vector<BlockPlan>& blocks) {
  std::vector<bool> closed(blocks.size(), true);
  if (blocks.size() == 1) return closed;
  for (size_t from = 0; from < blocks.size(); ++from) {
    for (Row row = blocks[from].rows.first; row <= blocks[from].rows.last; ++row) {
      for (int port = 0; port < network.ports(); ++port) {
        const Row head = network.next_row(stage, row, port);
        if (blocks[from].rows.has(head)) continue;
        closed[from] = false;
        closed[BlockOf(blocks, head)] = false;
      }
    }
  }
  return closed;
}

void PlanSegments(const Network& network, FabricPlan& plan) {
  std::vector<std::vector<bool>> closed;
  for (int s = plan.first_stage; s <= plan.last_stage; ++s) {
    closed.push_back(ClosedBlocks(network, s, plan.blocks_of(s)));
  }
  std::vector<size_t> before;  // the segment of each block of the previous hop
  for (int hop = 0; hop < network.hops(); ++hop) {
    const int stage = network.stage_of_hop(hop);
    if (stage < plan.first_stage || stage > plan.last_stage) continue;
    std::vector<size_t> now;
    for (const BlockPlan& block : plan.blocks_of(stage)) {
      size_t segment = plan.segments.size();
      for (size_t i = 0; i < before.size(); ++i) {
        const SegmentPlan& open = plan.segments[before[i]];
        const int stage_before = network.stage_of_hop(hop - 1);
        if (open.worker == block.worker && open.rows == block.rows &&
            closed[stage_before - plan.first_stage][i]) {
          segment = before[i];
        }
      }
      if (segment == plan.segments.size()) {
        plan.segments.push_back(
            {.worker = block.worker, .first_hop = hop, .hops = 0, .rows = block.rows});
      }
      ++plan.segments[segment].hops;
      now.push_back(segment);
    }
    before = std::move(now);
  }
}

}  // namespace

std::vector<int> FabricPlan::PollersOf(const HostPortConfig& port, int stage) const {
  const auto queues = static_cast<size_t>(port.queue_pairs);
  std::vector<int> workers;
  for (int lcore : port.lcores) workers.push_back(worker_of_lcore(lcore));
  for (size_t i = 0; port.lcores.empty() && i < port.rows.size() && workers.size() < queues; ++i) {
    const int worker = worker_of(stage, port.rows[i]);
    if (std::find(workers.begin(), workers.end(), worker) == workers.end()) {
      workers.push_back(worker);
    }
  }
  std::vector<int> pollers;
  for (size_t q = 0; q < queues; ++q) pollers.push_back(workers[q % workers.size()]);
  return pollers;
}

std::vector<int> FabricPlan::QueuesOfRows(const HostPortConfig& port, int stage) const {
  const std::vector<int> pollers = PollersOf(port, stage);
  std::vector<int> queues;
  std::set<int> used;
  for (Row row : port.rows) {
    const auto poller = std::find(pollers.begin(), pollers.end(), worker_of(stage, row));
    const auto queue = static_cast<int>(poller - pollers.begin());
    queues.push_back(poller == pollers.end() ? -1 : queue);
    if (queues.back() >= 0) used.insert(queues.back());
  }
  if (used.size() < 2) std::fill(queues.begin(), queues.end(), -1);
  return queues;
}

int FabricPlan::worker_of_lcore(int lcore) const {
  const auto it = std::find(lcores.begin(), lcores.end(), lcore);
  return it == lcores.end() ? -1 : static_cast<int>(it - lcores.begin());
}

int FabricPlan::worker_of(int stage, Row row) const {
  const std::vector<BlockPlan>& of_stage = blocks_of(stage);
  return of_stage[BlockOf(of_stage, row)].worker;
}

int FabricPlan::segment_from(int hop, Row row) const {
  const auto is_before = [&](const SegmentPlan& segment) {
    return segment.first_hop == hop ? segment.rows.last < row : segment.first_hop < hop;
  };
  const auto it = std::partition_point(segments.begin(), segments.end(), is_before);
  const bool begins = it != segments.end() && it->first_hop == hop && it->rows.has(row);
  return begins ? static_cast<int>(it - segments.begin()) : -1;
}

std::vector<FusedPlan> PlanFused(const Network& network, const SegmentPlan& segment, int hops,
                                 int most) {
  std::vector<FusedPlan> runs;
  const int end = segment.first_hop + hops;
  for (int hop = segment.first_hop; hop < end;) {
    const int end_of_pass = (hop / network.stages() + 1) * network.stages();
    int left = std::min(end, end_of_pass) - hop;
    for (int parts = (left + most - 1) / most; parts > 0; --parts) {
      const int length = (left + parts - 1) / parts;
      if (length > 1) runs.push_back({.first_hop = hop, .hops = length});
      hop += length;
      left -= length;
    }
  }
  return runs;
}

FabricPlan PlanFabric(const FabricConfig& config, const Network& network) {
  const std::vector<std::vector<PlacedRows>> placed = PlacedByStage(config, network);
  FabricPlan plan;
  plan.first_stage = network.stages();
  for (int s = 0; s < network.stages(); ++s) {
    if (placed[s].empty()) continue;
    plan.first_stage = std::min(plan.first_stage, s);
    plan.last_stage = s;
    std::vector<BlockPlan>& blocks = plan.blocks.emplace_back();
    for (const PlacedRows& part : placed[s]) {
      if (plan.worker_of_lcore(part.lcore) < 0) plan.lcores.push_back(part.lcore);
      blocks.push_back({.worker = plan.worker_of_lcore(part.lcore), .rows = part.rows});
    }
  }
  std::set<int> pollers;
  for (const HostPortConfig& port : config.ports)
    pollers.insert(port.lcores.begin(), port.lcores.end());
  for (int lcore : pollers) {
    if (plan.worker_of_lcore(lcore) < 0) plan.lcores.push_back(lcore);
  }
  PlanSegments(network, plan);
  return plan;
}

}  // namespace bfly::dataplane
