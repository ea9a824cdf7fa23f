// SPDX-License-Identifier: Apache-2.0
// What the programs of route.h are made of, one file each.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "dataplane/steps/crossing_log.h"
#include "dataplane/steps/route.h"

namespace bfly::dataplane {

// A run on its way. The program fills in what only it knows: `steps`, `phases`, `waves`, `trouble`.
// What the log tells is counted afterwards.
struct RouteRun {
  const Network& network;
  const RouteRequest& request;
  const RouteOptions& options;
  const FaultSet& faults;
  Crew& crew;
  // By packet: whether it takes part. Programs that refuse faults send all packets.
  std::vector<bool> sent;
  CrossingLog log;
  RouteReport report;
};

struct RouteProgramRun {
  RouteProgram program;
  bool around_faults = false;  // whether it is defined on networks with faults
  // Steps from one crossing of a packet to the next at the soonest.
  uint64_t steps_a_hop = 1;
  // Refuses networks, fields and packets.
  absl::Status (*check)(const Network&, const RouteRequest&) = nullptr;
  absl::Status (*run)(RouteRun&) = nullptr;
};

RouteProgramRun WavesRoute();
RouteProgramRun GreedyRoute();
RouteProgramRun HRelationRoute();
RouteProgramRun ExtraStagesRoute();
RouteProgramRun StoreAndForwardRoute();

// Counts what the log tells into the report.
void Summarize(const RouteProgramRun& program, RouteRun& run);

}  // namespace bfly::dataplane
