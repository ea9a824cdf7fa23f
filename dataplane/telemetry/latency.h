// SPDX-License-Identifier: Apache-2.0
// The latencies a data plane records while somebody asks for them.
#pragma once

#include <vector>

#include "dataplane/telemetry/latency_histogram.h"

namespace bfly::dataplane {

// What the worker that delivers packets records of each. The three are of one packet:
// end_to_end = links + late.
struct DeliveryLatency {
  LatencyHistogram end_to_end;  // from birth to delivery
  LatencyHistogram links;       // what links with a rate or a delay account for, as computed
  LatencyHistogram late;        // how far behind that the workers were
};

// What a reader sees.
struct LatencyReport {
  bool recording = false;
  LatencySummary end_to_end = {};
  LatencySummary links = {};
  LatencySummary late = {};
  int first_stage = 0;
  // By stage from first_stage on: from the arrival at a node to the end of the link, as computed.
  // Only links with a rate or a delay take time, so the count is 0 where there are none.
  std::vector<LatencySummary> stages = {};
};

}  // namespace bfly::dataplane
