// SPDX-License-Identifier: Apache-2.0
// A data plane's snapshot as the API's messages.
#pragma once

#include "bfly/v1/agent.pb.h"
#include "dataplane/core/config.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/telemetry/latency.h"
#include "dataplane/traffic/source_config.h"

namespace bfly::control {

// `links`: also the columns, one entry a link.
void FillCounters(const dataplane::Snapshot& snapshot,
                  const std::vector<dataplane::StagePlacement>& placement, bool links,
                  v1::AgentCounters* counters);

void FillTraffic(const std::vector<dataplane::SourceCounters>& sources,
                 const dataplane::LatencyReport& latency, v1::AgentTrafficState* state);

}  // namespace bfly::control
