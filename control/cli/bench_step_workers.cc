// SPDX-License-Identifier: Apache-2.0
// bfly bench steps --in-band: steps a second of the workers of a running fabric, beside what it
// costs these workers to wait for each other.
#include <cstdio>

#include "control/cli/bench_report.h"
#include "dataplane/bench/step_worker_bench.h"
#include "dataplane/runtime/eal.h"

namespace bfly::control {
namespace {

// A round is the time from one wait of the workers for each other to the next.
struct RoundFigures {
  explicit RoundFigures(const dataplane::StepWorkerBenchRuns& runs)
      : steps(dataplane::StatisticsOf(runs.steps_per_second)),
        barriers(dataplane::StatisticsOf(runs.barriers_per_second)),
        rounds_a_step(static_cast<double>(runs.barriers) / static_cast<double>(runs.steps)) {}
  // The part of a step's time that its barriers take without other work.
  double waiting() const { return rounds_a_step * steps.median / barriers.median; }
  dataplane::RunStatistics steps, barriers;
  double rounds_a_step;
};

std::string PlacedText(const dataplane::StepWorkerBenchRuns& runs) {
  if (runs.workers == 1) return "1 worker";
  return std::to_string(runs.workers) + " workers, " +
         (runs.by_rows ? "a range of the rows each" : "a part of the stages each");
}

void PrintStepWorkersJson(const std::vector<dataplane::StepWorkerBenchRuns>& all,
                          const dataplane::StepWorkerBenchOptions& options,
                          const dataplane::Eal& eal) {
  nlohmann::ordered_json placements = nlohmann::ordered_json::array();
  for (const dataplane::StepWorkerBenchRuns& runs : all) {
    const RoundFigures figures(runs);
    placements.push_back({{"workers", runs.workers},
                          {"by_rows", runs.by_rows},
                          {"steps_per_second", figures.steps.median},
                          {"steps_per_second_spread", SpreadJson(figures.steps)},
                          {"barriers_per_second", figures.barriers.median},
                          {"barriers_per_second_spread", SpreadJson(figures.barriers)},
                          {"barriers_a_step", figures.rounds_a_step},
                          {"barrier_share", figures.waiting()},
                          {"steps", runs.steps}});
  }
  const nlohmann::ordered_json out = {{"rows", options.network.rows},
                                      {"degree", options.network.multiplicity},
                                      {"waves_of_a_permutation", options.waves},
                                      {"runs", options.runs},
                                      {"seed", options.seed},
                                      {"placements", placements},
                                      {"machine", ProcessorName()},
                                      {"memory", eal.memory},
                                      {"dpdk", eal.dpdk_version},
                                      {"compiler", BFLY_COMPILER}};
  printf("%s\n", out.dump(2).c_str());
}

void PrintStepWorkers(const std::vector<dataplane::StepWorkerBenchRuns>& all,
                      const dataplane::StepWorkerBenchOptions& options, const dataplane::Eal& eal) {
  printf("waves on a multibutterfly of %u rows and degree %d, on running stage workers, %d runs\n",
         options.network.rows, options.network.multiplicity, options.runs);
  for (const dataplane::StepWorkerBenchRuns& runs : all) {
    const RoundFigures figures(runs);
    printf("%s\n", PlacedText(runs).c_str());
    printf("  steps       %s a second, %.2f us each\n", SpreadText(figures.steps).c_str(),
           1e6 / figures.steps.median);
    printf("  barriers    %s a second, %.2f us each, %.1f a step: %.0f%% of a step\n",
           SpreadText(figures.barriers).c_str(), 1e6 / figures.barriers.median,
           figures.rounds_a_step, 100 * figures.waiting());
  }
  printf("%s, %s, %s, %s\n", ProcessorName().c_str(), eal.memory.c_str(), eal.dpdk_version.c_str(),
         BFLY_COMPILER);
}

}  // namespace

absl::Status BenchStepWorkers(const dataplane::StepWorkerBenchOptions& options,
                              const Common& common) {
  const absl::StatusOr<dataplane::Eal> eal = dataplane::StartEal(dataplane::EalOptions());
  if (!eal.ok()) return eal.status();
  const absl::StatusOr<std::vector<dataplane::StepWorkerBenchRuns>> all =
      dataplane::RunStepWorkerBench(options);
  dataplane::StopEal();
  if (!all.ok()) return all.status();
  if (common.json) {
    PrintStepWorkersJson(*all, options, *eal);
  } else {
    PrintStepWorkers(*all, options, *eal);
  }
  return absl::OkStatus();
}

}  // namespace bfly::control
