// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "dataplane/steps/h_relation.h"
#include "dataplane/steps/h_relation_buffers.h"
#include "dataplane/steps/route_run.h"

namespace bfly::dataplane {
namespace {

HRelationConfig ConfigOf(const RouteRequest& request) {
  HRelationConfig config = request.h_relation;
  config.h = DegreeOf(request.relation);
  return config;
}

absl::Status CheckHRelationRoute(const Network& network, const RouteRequest& request) {
  if (request.max_steps > 0) {
    return absl::InvalidArgumentError(
        "max_steps: h_relation ends by itself in the stage in which the first nodes are stuck; "
        "leave it out");
  }
  return CheckHRelation(network, ConfigOf(request));
}

uint64_t HRelationNodeBytes(const Network& network, const RouteRequest& request) {
  return HRelationBuffers::BytesOfNode(
      std::min(request.h_relation.neighbours, network.multiplicity()));
}

absl::Status RunHRelationRoute(RouteRun& run) {
  HRelationConfig config = ConfigOf(run.request);
  config.log = &run.log;
  const absl::StatusOr<HRelationResult> result =
      RunHRelation(run.network, run.request.relation, config, run.crew);
  if (!result.ok()) return result.status();
  run.report.steps = result->steps;
  run.report.phases = result->stages;
  run.report.trouble = result->trouble;
  return absl::OkStatus();
}

}  // namespace

RouteProgramRun HRelationRoute() {
  return {
      .program = {"h_relation", "h packets an input and an output, with ghosts; Pietracaprina 1997",
                  "multibutterfly"},
      .check = CheckHRelationRoute,
      .node_bytes = HRelationNodeBytes,
      .run = RunHRelationRoute};
}

}  // namespace bfly::dataplane
