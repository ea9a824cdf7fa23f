// SPDX-License-Identifier: Apache-2.0
// Converts built-in sources from the API's message to the data plane's plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/traffic.pb.h"
#include "dataplane/fabric/fabric.h"

namespace bfly::control {

// INVALID_ARGUMENT names every wrong field: "sources[1].bytes: 12 is outside 64..1518".
absl::StatusOr<std::vector<dataplane::SourceConfig>> ToSourceConfigs(
    const std::vector<v1::TrafficSource>& sources, uint32_t rows, uint32_t max_frame_bytes);

// Counts the rows from which these sources send; a row counts once for every source that sends from
// it. Lists of rows are not expanded for that. A source with a wrong list, and a trace, count 0
// rows.
uint64_t CountSourceRows(const std::vector<v1::TrafficSource>& sources, uint32_t rows);

}  // namespace bfly::control
