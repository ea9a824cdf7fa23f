// SPDX-License-Identifier: Apache-2.0
// Which lane of a last segment the packets for each row take. These functions are pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "dataplane/ports/trunk.h"
#include "dataplane/stages/segment.h"

namespace bfly::dataplane {

// For each row behind the trunk: the way out that leads there.
std::vector<uint16_t> WayOfRow(uint32_t rows, const std::vector<Trunk::WayOut>& ways_out);

// `lane_to`: the lane to each way out.
Segment::LaneGroups LanesOfWays(std::vector<uint16_t> way_of_row, size_t ways,
                                const std::map<size_t, uint16_t>& lane_to);

// `leads_to` and `transmitters` have an entry for each row, `lane_to` an entry for each worker.
// Packets of rows that no worker transmits to go to the egress of `own`, the worker of the segment.
Segment::LaneGroups LanesOfRows(const std::vector<bool>& leads_to,
                                const std::vector<std::vector<int>>& transmitters,
                                const std::vector<uint16_t>& lane_to, int own);

}  // namespace bfly::dataplane
