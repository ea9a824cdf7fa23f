// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/step_worker_bench.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/step_workers/step_programs.h"
#include "topologies/fault_set.h"
#include "topologies/relation.h"

namespace bfly::dataplane {
namespace {

absl::Status CheckStepWorkerBench(const StepWorkerBenchOptions& o) {
  const int cpus = static_cast<int>(UsableCpus().size());
  return FirstError({CheckOption("waves", o.waves, 1, o.network.rows),
                     CheckOption("runs", o.runs, 1, 1000),
                     CheckOption("workers", o.most_workers, 1, cpus)});
}

struct Placed {
  StepWorkerBenchRuns runs;
  std::vector<StagePlacement> placement;
};

std::vector<Placed> PlacementsOf(const StepWorkerBenchOptions& options, const Network& network) {
  std::vector<Placed> all = {{{.workers = 1}, EqualParts(network.stages(), 1)}};
  for (int workers = 2; workers <= options.most_workers; ++workers) {
    all.push_back({{.workers = workers}, EqualParts(network.stages(), workers)});
    Placed rows{{.workers = workers, .by_rows = true}, {}};
    const auto count = static_cast<Row>(workers);
    for (Row w = 0; w < count; ++w) {
      const Row first = network.rows() / count * w;
      const Row end = w + 1 < count ? network.rows() / count * (w + 1) : network.rows();
      rows.placement.push_back({.first_stage = 0,
                                .last_stage = network.stages() - 1,
                                .lcore = UsableCpus()[w],
                                .rows = {first, end - 1}});
    }
    all.push_back(std::move(rows));
  }
  return all;
}

absl::Status RunOne(Placed& placed, const StepWorkerBenchOptions& options, const Network& network) {
  FabricConfig config;
  config.name = "bench";
  config.network = options.network;
  config.idle = IdleMode::kPoll;
  config.placement = placed.placement;
  const absl::StatusOr<std::unique_ptr<Fabric>> fabric = Fabric::Load(config);
  if (!fabric.ok()) return fabric.status();
  const absl::StatusOr<StepPrograms*> programs = (*fabric)->step_programs();
  if (!programs.ok()) return programs.status();
  for (int run = 0; run < options.runs; ++run) {
    RouteRequest request;
    request.waves = options.waves;
    absl::StatusOr<Relation> relation = RelationByName("random", options.network.rows, 1,
                                                       options.seed + static_cast<uint64_t>(run));
    if (!relation.ok()) return relation.status();
    request.relation = *std::move(relation);
    const absl::StatusOr<StepRun> result =
        (*programs)->Run("waves", FaultSet(network), request, {}, nullptr);
    if (!result.ok()) return result.status();
    const absl::StatusOr<RouteReport> clock =
        RunRoute("waves", network, FaultSet(network), request, {});
    if (!clock.ok()) return clock.status();
    if (clock->steps != result->report.steps || clock->standing != result->report.standing ||
        clock->mean_latency != result->report.mean_latency) {
      return absl::InternalError(absl::StrCat("run ", run, ": the workers took ",
                                              result->report.steps, " steps and the step clock ",
                                              clock->steps, ", or moved other packets"));
    }
    placed.runs.steps += clock->steps_taken();
    placed.runs.barriers += result->barriers;
    placed.runs.steps_per_second.push_back(static_cast<double>(clock->steps_taken()) /
                                           result->seconds);
    placed.runs.barriers_per_second.push_back(1 / result->barrier_seconds);
  }
  return (*fabric)->Unload();
}

}  // namespace

absl::StatusOr<std::vector<StepWorkerBenchRuns>> RunStepWorkerBench(
    const StepWorkerBenchOptions& given) {
  StepWorkerBenchOptions options = given;
  if (options.most_workers == 0) options.most_workers = UsableCpus().size() > 1 ? 2 : 1;
  const absl::StatusOr<Network> network = Network::Make(options.network);
  if (!network.ok()) return network.status();
  if (absl::Status status = CheckStepWorkerBench(options); !status.ok()) return status;
  std::vector<StepWorkerBenchRuns> all;
  for (Placed& placed : PlacementsOf(options, *network)) {
    if (absl::Status status = RunOne(placed, options, *network); !status.ok()) return status;
    all.push_back(std::move(placed.runs));
  }
  return all;
}

}  // namespace bfly::dataplane
