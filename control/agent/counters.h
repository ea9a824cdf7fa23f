// SPDX-License-Identifier: Apache-2.0
// Writes a data plane's snapshot into messages of the API.
#pragma once

#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "dataplane/core/config.h"
#include "dataplane/core/port_status.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/fabric/link_query.h"
#include "dataplane/telemetry/latency.h"
#include "dataplane/traffic/source_config.h"

namespace bfly::control {

// With `links`, fills in the columns too, which have an entry for each link.
void FillCounters(const dataplane::Snapshot& snapshot,
                  const std::vector<dataplane::StagePlacement>& placement, bool links,
                  v1::AgentCounters* counters);

void FillPortStatus(const dataplane::PortStatus& port, v1::PortStatus* out);

// INVALID_ARGUMENT names the field.
absl::StatusOr<dataplane::LinkQuery> ToLinkQuery(const v1::AgentReadLinksRequest& request);
void FillReading(const dataplane::LinkReading& reading, v1::AgentLinkReading* out);

// If `histogram` is true, the function also fills in the buckets of the latencies.
void FillTraffic(const std::vector<dataplane::SourceCounters>& sources,
                 const dataplane::LatencyReport& latency, bool histogram,
                 v1::AgentTrafficState* state);

}  // namespace bfly::control
