// SPDX-License-Identifier: Apache-2.0
#include "control/rates/cost_since.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace bfly::control {
namespace {

double Quotient(uint64_t cycles, uint64_t things) {
  return things > 0 ? static_cast<double>(cycles) / static_cast<double>(things) : 0;
}

// The costs of the same stages, crossed in the same way; null if `costs` has none.
const v1::StageCost* SameStages(const v1::WorkerCost& costs, const v1::StageCost& wanted) {
  const auto found =
      std::find_if(costs.stages().begin(), costs.stages().end(), [&](const v1::StageCost& stage) {
        return stage.first_stage() == wanted.first_stage() && stage.stages() == wanted.stages();
      });
  return found == costs.stages().end() ? nullptr : &*found;
}

}  // namespace

v1::WorkerCost CostSince(const v1::WorkerCost& before, const v1::WorkerCost& now) {
  if (now.polls() < before.polls() || now.empty_polls() < before.empty_polls() ||
      now.frames() < before.frames() || now.hops() < before.hops() ||
      now.busy_cycles() < before.busy_cycles()) {
    return now;
  }
  v1::WorkerCost cost = now;
  cost.set_busy_cycles(now.busy_cycles() - before.busy_cycles());
  cost.set_frames(now.frames() - before.frames());
  cost.set_hops(now.hops() - before.hops());
  cost.set_cycles_per_frame(Quotient(cost.busy_cycles(), cost.frames()));
  cost.set_cycles_per_hop(Quotient(cost.busy_cycles(), cost.hops()));
  cost.set_polls(now.polls() - before.polls());
  cost.set_empty_polls(now.empty_polls() - before.empty_polls());
  for (int i = 0; i < std::min(now.bursts_size(), before.bursts_size()); ++i)
    cost.set_bursts(i, now.bursts(i) - before.bursts(i));
  cost.clear_stages();
  for (v1::StageCost stage : now.stages()) {
    const v1::StageCost* const old = SameStages(before, stage);
    if (old != nullptr && old->sampled_hops() <= stage.sampled_hops() &&
        old->sampled_cycles() <= stage.sampled_cycles()) {
      stage.set_sampled_hops(stage.sampled_hops() - old->sampled_hops());
      stage.set_sampled_cycles(stage.sampled_cycles() - old->sampled_cycles());
    }
    if (stage.sampled_hops() == 0) continue;
    stage.set_cycles_per_hop(Quotient(stage.sampled_cycles(), stage.sampled_hops()));
    *cost.add_stages() = std::move(stage);
  }
  return cost;
}

v1::FabricStatus WorkSince(const v1::FabricStatus& before, v1::FabricStatus now) {
  std::map<std::pair<std::string, uint32_t>, const v1::WorkerStatus*> then;
  for (const v1::DataPlaneStatus& plane : before.data_planes())
    for (const v1::WorkerStatus& worker : plane.workers())
      then[{plane.name(), worker.lcore()}] = &worker;
  for (v1::DataPlaneStatus& plane : *now.mutable_data_planes()) {
    for (v1::WorkerStatus& worker : *plane.mutable_workers()) {
      const auto found = then.find({plane.name(), worker.lcore()});
      if (found == then.end()) continue;
      const v1::WorkerStatus& old = *found->second;
      if (old.passes() > worker.passes() || old.idle_passes() > worker.idle_passes()) continue;
      worker.set_passes(worker.passes() - old.passes());
      worker.set_idle_passes(worker.idle_passes() - old.idle_passes());
      *worker.mutable_cost() = CostSince(old.cost(), worker.cost());
    }
  }
  return now;
}

}  // namespace bfly::control
