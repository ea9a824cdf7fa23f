// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "dataplane/fabric/loaded_stages.h"
#include "dataplane/telemetry/latency.h"

namespace bfly::dataplane {

// The objects in which workers record latencies; empty while no latency is recorded. The egress and
// the timed links of workers point to it.
struct RecordedLatency {
  // One for each worker that delivers packets.
  std::vector<std::unique_ptr<DeliveryLatency>> deliveries;
  LoadedStages::Histograms stages;
};

}  // namespace bfly::dataplane
