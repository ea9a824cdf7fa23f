// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/plan.h"

#include <algorithm>
#include <set>

namespace bfly::dataplane {

int FabricPlan::worker_of_lcore(int lcore) const {
  const auto it = std::find(lcores.begin(), lcores.end(), lcore);
  return it == lcores.end() ? -1 : static_cast<int>(it - lcores.begin());
}

FabricPlan PlanFabric(const FabricConfig& config, const Network& network) {
  std::vector<int> lcore_of_stage(network.stages(), -1);
  for (const StagePlacement& p : config.placement) {
    for (int s = p.first_stage; s <= p.last_stage; ++s) lcore_of_stage[s] = p.lcore;
  }
  FabricPlan plan;
  plan.first_stage = network.stages();
  for (int s = 0; s < network.stages(); ++s) {
    if (lcore_of_stage[s] < 0) continue;
    plan.first_stage = std::min(plan.first_stage, s);
    plan.last_stage = s;
    if (plan.worker_of_lcore(lcore_of_stage[s]) < 0) plan.lcores.push_back(lcore_of_stage[s]);
  }
  std::set<int> pollers;
  for (const HostPortConfig& port : config.ports)
    pollers.insert(port.lcores.begin(), port.lcores.end());
  for (int lcore : pollers) {
    if (plan.worker_of_lcore(lcore) < 0) plan.lcores.push_back(lcore);
  }
  for (int hop = 0; hop < network.hops(); ++hop) {
    const int lcore = lcore_of_stage[network.stage_of_hop(hop)];
    if (lcore < 0) continue;
    const int worker = plan.worker_of_lcore(lcore);
    if (plan.segments.empty() || plan.segments.back().worker != worker) {
      plan.segments.push_back({.worker = worker, .first_hop = hop, .hops = 0});
    }
    ++plan.segments.back().hops;
  }
  return plan;
}

}  // namespace bfly::dataplane
