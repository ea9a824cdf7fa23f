// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "dataplane/steps/extra_stages.h"
#include "dataplane/steps/route_run.h"

namespace bfly::dataplane {
namespace {

absl::StatusOr<ExtraStagesConfig> ConfigOf(const Network& network, const RouteRequest& request) {
  const Relation& relation = request.relation;
  ExtraStagesConfig config;
  config.order = request.order;
  config.seed = request.seed;
  config.permutations = relation.first[1];
  if (absl::Status status = CheckExtraStages(network, config); !status.ok()) return status;
  for (Row row = 0; row < network.rows(); ++row) {
    const uint32_t count = relation.first[row + 1] - relation.first[row];
    if (count == config.permutations) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("destinations: extra_stages takes a sequence of permutations; row ", row,
                     " sends ", count, " packets and row 0 sends ", config.permutations));
  }
  for (uint32_t q = 0; q < config.permutations; ++q) {
    Permutation permutation;
    for (Row row = 0; row < network.rows(); ++row) {
      permutation.push_back(relation.destinations[relation.first[row] + q]);
    }
    if (absl::Status status = CheckPermutation(permutation, network.rows()); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "destinations: packet ", q, " of the inputs (counted from 0): ", status.message(),
          "; extra_stages takes a sequence of permutations"));
    }
    config.given.push_back(std::move(permutation));
  }
  return config;
}

absl::Status CheckExtraStagesRoute(const Network& network, const RouteRequest& request) {
  if (request.max_steps > 0) {
    return absl::InvalidArgumentError(
        "max_steps: extra_stages always ends, because no queue is ever full; leave it out");
  }
  return ConfigOf(network, request).status();
}

absl::Status RunExtraStagesRoute(RouteRun& run) {
  absl::StatusOr<ExtraStagesConfig> config = ConfigOf(run.network, run.request);
  if (!config.ok()) return config.status();
  config->workers = run.options.workers;
  std::vector<uint32_t> crossings;
  const absl::StatusOr<ExtraStagesResult> result = RunExtraStages(run.network, *config, &crossings);
  if (!result.ok()) return result.status();
  run.report.steps = result->steps;
  const Row rows = run.network.rows();
  for (const ExtraPacket& packet : PacketsOf(run.network, *config)) {
    Row row = packet.number % rows;
    const uint64_t number = run.request.relation.first[row] + packet.number / rows;
    run.log.Begin(number, 0);
    for (int hop = 0; hop < run.network.hops(); ++hop) {
      const int port = packet.path >> hop & 1;
      run.log.Cross(number, hop, row, port,
                    crossings[static_cast<uint64_t>(hop) * result->packets + packet.number]);
      row = run.network.next_row(hop, row, port);
    }
  }
  return absl::OkStatus();
}

}  // namespace

RouteProgramRun ExtraStagesRoute() {
  return {.program = {"extra_stages",
                      "sequences of permutations by random paths; Upfal, Felperin, Snir",
                      "butterfly, with extra_stages or without"},
          .steps_a_hop = 2,
          .check = CheckExtraStagesRoute,
          .run = RunExtraStagesRoute};
}

}  // namespace bfly::dataplane
