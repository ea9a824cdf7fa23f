// SPDX-License-Identifier: Apache-2.0
#include "control/exporter/owners.h"

#include <set>

namespace bfly::control {

LinkOwners::LinkOwners(const v1::FabricStatus& fabric, const v1::Counters& counters)
    : stages_(fabric.stages()) {
  if (fabric.rows() == 0) return;
  for (const v1::DataPlaneStatus& plane : fabric.data_planes()) {
    if (plane.state() != v1::DataPlaneStatus::RUNNING || plane.out_of_step()) continue;
    for (const v1::WorkerStatus& worker : plane.workers()) {
      std::vector<Range> rows = {{0, fabric.rows() - 1}};
      if (!worker.rows().empty()) rows = ParseRanges(worker.rows()).value_or(std::vector<Range>());
      for (const uint32_t stage : worker.stages()) {
        if (stage >= stages_.size()) continue;
        for (const Range& range : rows) stages_[stage].push_back({range, plane.name()});
      }
    }
  }
  RemoveLost(fabric, counters);
}

void LinkOwners::RemoveLost(const v1::FabricStatus& fabric, const v1::Counters& counters) {
  std::set<std::string> lost;
  for (const v1::DataPlaneStatus& plane : fabric.data_planes()) {
    for (const v1::WorkerStatus& worker : plane.workers())
      if (worker.cost().hops() > 0) lost.insert(plane.name());
  }
  for (const v1::LinkCounters& link : counters.links()) {
    const std::string* const owner = link.packets() > 0 ? Of(link.stage(), link.row()) : nullptr;
    if (owner != nullptr) lost.erase(*owner);
  }
  lost.insert(counters.planes_missing().begin(), counters.planes_missing().end());
  for (std::vector<Owned>& stage : stages_)
    std::erase_if(stage, [&lost](const Owned& owned) { return lost.contains(owned.data_plane); });
}

const std::string* LinkOwners::Of(uint32_t stage, uint32_t row) const {
  if (stage >= stages_.size()) return nullptr;
  for (const Owned& owned : stages_[stage]) {
    if (owned.rows.first <= row && row <= owned.rows.last) return &owned.data_plane;
  }
  return nullptr;
}

}  // namespace bfly::control
