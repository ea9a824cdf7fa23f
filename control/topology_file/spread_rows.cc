// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/spread_rows.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"
#include "control/topology_file/to_fabric_config.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::control {

std::vector<int> SpreadRows(const std::vector<int>& cpus, v1::Topology* topology) {
  if (!topology->placement().empty() || topology->data_planes_size() != 1 || cpus.empty()) {
    return {};
  }
  const absl::StatusOr<Network> network = NetworkOf(topology->network());
  if (!network.ok()) return {};
  const size_t most = std::min<size_t>(cpus.size(), dataplane::kMostWorkers);
  const uint32_t parts = std::min(std::bit_floor(static_cast<uint32_t>(most)), network->rows());
  const uint32_t rows = network->rows() / parts;
  for (uint32_t part = 0; part < parts; ++part) {
    v1::StagePlacement* const placement = topology->add_placement();
    placement->set_stages(absl::StrCat("0-", network->stages() - 1));
    if (parts > 1) placement->set_rows(absl::StrCat(part * rows, "-", (part + 1) * rows - 1));
    placement->set_lcore(static_cast<uint32_t>(cpus[part]));
    placement->set_data_plane(topology->data_planes(0).name());
  }
  return {cpus.begin(), cpus.begin() + static_cast<ptrdiff_t>(parts)};
}

}  // namespace bfly::control
