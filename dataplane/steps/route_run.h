// SPDX-License-Identifier: Apache-2.0
// The parts of a program of route.h. Each program has a file of its own.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "dataplane/steps/crossing_log.h"
#include "dataplane/steps/route.h"

namespace bfly::dataplane {

// A run on its way. The program fills in the figures that only it knows: `steps`, `phases`,
// `waves`, `trouble`. The figures that the log tells are counted afterwards.
struct RouteRun {
  const Network& network;
  const RouteRequest& request;
  const RouteOptions& options;
  const FaultSet& faults;
  Crew& crew;
  // For each packet: whether it takes part. Programs that refuse faults send all packets.
  std::vector<bool> sent;
  CrossingLog log;
  RouteReport report;
};

struct RouteProgramRun {
  RouteProgram program;
  // The fewest steps from one crossing of a packet to its next crossing.
  uint64_t steps_a_hop = 1;
  // Refuses networks, fields and packets.
  absl::Status (*check)(const Network&, const RouteRequest&) = nullptr;
  // The bytes of one node. For requests that `check` accepts.
  uint64_t (*node_bytes)(const Network&, const RouteRequest&) = nullptr;
  absl::Status (*run)(RouteRun&) = nullptr;
};

RouteProgramRun WavesRoute();
RouteProgramRun GreedyRoute();
RouteProgramRun HRelationRoute();
RouteProgramRun ExtraStagesRoute();
RouteProgramRun StoreAndForwardRoute();

// Counts the crossings in the log and fills in the report.
void Summarize(const RouteProgramRun& program, RouteRun& run);

}  // namespace bfly::dataplane
