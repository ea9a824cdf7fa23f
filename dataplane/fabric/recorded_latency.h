// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "dataplane/fabric/loaded_stages.h"
#include "dataplane/telemetry/latency.h"

namespace bfly::dataplane {

// What workers record latencies in; empty while nothing is recorded. The egress and the timed links
// of workers point to it.
struct RecordedLatency {
  std::vector<std::unique_ptr<DeliveryLatency>> deliveries;  // of workers that deliver
  LoadedStages::Histograms stages;
};

}  // namespace bfly::dataplane
