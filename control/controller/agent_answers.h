// SPDX-License-Identifier: Apache-2.0
// Whether what an agent answered can be true of the network it runs. The controller uses rows,
// stages and columns of answers as indices only after these checks. An error says which field is
// wrong, as "NAME[i]: ..."; its code is kInternal.
#pragma once

#include "absl/status/status.h"
#include "bfly/v1/agent.pb.h"
#include "topologies/network.h"

namespace bfly::control {

// Checks the circuits, the links that are down, the changed links and the stages of workers of a
// data plane that runs `network`.
absl::Status CheckAnswer(const v1::AgentState& state, const Network& network);
// Checks stages, columns of links and dropped packets.
absl::Status CheckAnswer(const v1::AgentCounters& counters, const Network& network);
// Checks the links and columns of an answer to `request`.
absl::Status CheckAnswer(const v1::AgentLinkReading& reading,
                         const v1::AgentReadLinksRequest& request, const Network& network);
// Checks the paths, the refusals and the requests without a path of an answer to `request`.
absl::Status CheckAnswer(const v1::AgentInBandResponse& response,
                         const v1::AgentInBandRequest& request, const Network& network);
// Checks the levels and the samples of an answer to `request`.
absl::Status CheckAnswer(const v1::RouteReport& report, const v1::RouteRequest& request,
                         const Network& network);

}  // namespace bfly::control
