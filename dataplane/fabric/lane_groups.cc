// SPDX-License-Identifier: Apache-2.0
#include "dataplane/fabric/lane_groups.h"

#include <utility>

namespace bfly::dataplane {

std::vector<uint16_t> WayOfRow(uint32_t rows, const std::vector<Trunk::WayOut>& ways_out) {
  std::vector<uint16_t> way_of_row(rows);
  for (size_t w = 0; w < ways_out.size(); ++w) {
    for (Row row : ways_out[w].rows) way_of_row[row] = static_cast<uint16_t>(w);
  }
  return way_of_row;
}

Segment::LaneGroups LanesOfWays(std::vector<uint16_t> way_of_row, size_t ways,
                                const std::map<size_t, uint16_t>& lane_to) {
  Segment::LaneGroups lane_groups{.group_of_row = std::move(way_of_row), .groups = {}};
  for (size_t w = 0; w < ways; ++w) {
    const auto lane = lane_to.find(w);
    lane_groups.groups.push_back({lane == lane_to.end() ? uint16_t{0} : lane->second});
  }
  return lane_groups;
}

Segment::LaneGroups LanesOfRows(const std::vector<bool>& leads_to,
                                const std::vector<std::vector<int>>& transmitters,
                                const std::vector<uint16_t>& lane_to, int own) {
  const auto lane = [&](int worker) { return lane_to[static_cast<size_t>(worker)]; };
  Segment::LaneGroups lane_groups{.group_of_row = std::vector<uint16_t>(leads_to.size()),
                                  .groups = {{lane(own)}}};
  std::map<std::vector<int>, uint16_t> group_of;
  for (size_t row = 0; row < leads_to.size(); ++row) {
    if (!leads_to[row] || transmitters[row].empty()) continue;
    const auto [group, fresh] =
        group_of.emplace(transmitters[row], static_cast<uint16_t>(lane_groups.groups.size()));
    lane_groups.group_of_row[row] = group->second;
    if (!fresh) continue;
    std::vector<uint16_t>& lanes = lane_groups.groups.emplace_back();
    for (int worker : transmitters[row]) lanes.push_back(lane(worker));
  }
  return lane_groups;
}

}  // namespace bfly::dataplane
