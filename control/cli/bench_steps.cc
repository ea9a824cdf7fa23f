// SPDX-License-Identifier: Apache-2.0
// bfly bench steps: packet moves a second of the step clock, beside plain loops in the same run.
#include <algorithm>
#include <cstdio>

#include "control/cli/bench_report.h"
#include "dataplane/bench/step_bench.h"

namespace bfly::control {
namespace {

struct StepFigures {
  explicit StepFigures(const dataplane::StepBenchProgram& program)
      : wall(dataplane::StatisticsOf(program.clock.per_second)),
        cpu(dataplane::StatisticsOf(program.clock.per_cpu_second)),
        plain(dataplane::StatisticsOf(program.plain.per_second)),
        plain_cpu(dataplane::StatisticsOf(program.plain.per_cpu_second)) {}
  dataplane::RunStatistics wall, cpu, plain, plain_cpu;
};

nlohmann::ordered_json StepJson(const dataplane::StepBenchProgram& program) {
  const StepFigures figures(program);
  return {{"moves_per_second", figures.wall.median},
          {"ns_per_move", 1e9 / figures.wall.median},
          {"moves", program.moves},
          {"steps", program.steps},
          {"moves_per_second_spread", SpreadJson(figures.wall)},
          {"moves_per_cpu_second", SpreadJson(figures.cpu)},
          {"baseline_moves_per_second", SpreadJson(figures.plain)},
          {"baseline_moves_per_cpu_second", SpreadJson(figures.plain_cpu)},
          {"ratio", figures.wall.median / figures.plain.median},
          {"cpu_ratio", figures.cpu.median / figures.plain_cpu.median}};
}

void PrintSteps(const char* name, const dataplane::StepBenchProgram& program) {
  const StepFigures figures(program);
  printf("%s, %.1f packets a step\n", name,
         static_cast<double>(program.moves) / static_cast<double>(program.steps));
  printf("  step clock  %s moves/s, %.1f ns a move; of CPU time %s moves/s\n",
         SpreadText(figures.wall).c_str(), 1e9 / figures.wall.median,
         SpreadText(figures.cpu).c_str());
  printf("  plain loop  %s moves/s; of CPU time %s moves/s\n", SpreadText(figures.plain).c_str(),
         SpreadText(figures.plain_cpu).c_str());
  printf("  ratio       %.1f; of CPU time %.1f\n", figures.wall.median / figures.plain.median,
         figures.cpu.median / figures.plain_cpu.median);
}

absl::Status BenchSteps(const dataplane::StepBenchOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::StepBenchResult> result = dataplane::RunStepBench(options);
  if (!result.ok()) return result.status();
  if (common.json) {
    const nlohmann::ordered_json waves = StepJson(result->waves);
    const nlohmann::ordered_json greedy = StepJson(result->greedy);
    const double slower =
        std::min(StepFigures(result->waves).wall.median, StepFigures(result->greedy).wall.median);
    const nlohmann::ordered_json out = {{"rows", options.network.rows},
                                        {"degree", options.network.multiplicity},
                                        {"workers", options.workers},
                                        {"moves_per_second", slower},
                                        {"waves", waves},
                                        {"greedy", greedy},
                                        {"waves_of_a_permutation", options.waves},
                                        {"packets_of_an_input", options.packets},
                                        {"runs", options.runs},
                                        {"seed", options.seed},
                                        {"machine", ProcessorName()},
                                        {"compiler", BFLY_COMPILER}};
    printf("%s\n", out.dump(2).c_str());
    return absl::OkStatus();
  }
  printf("multibutterfly of %u rows and degree %d under the step clock, %d worker%s, %d runs\n",
         options.network.rows, options.network.multiplicity, options.workers,
         options.workers == 1 ? "" : "s", options.runs);
  PrintSteps("waves", result->waves);
  PrintSteps("greedy", result->greedy);
  printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
  return absl::OkStatus();
}

}  // namespace

void AddStepBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(bench, invocation, "steps",
                           "Packets moved a second under the step clock, beside plain loops",
                           "bfly bench steps --rows 1024 --degree 2 --workers 1 --json");
  auto options = std::make_shared<dataplane::StepBenchOptions>();
  verb->add_option("--rows", options->network.rows, "Rows of the multibutterfly, a power of two")
      ->capture_default_str();
  verb->add_option("--degree", options->network.multiplicity, "Links of a direction, 1 to 16")
      ->capture_default_str();
  CLI::Option* const workers =
      verb->add_option("--workers", options->workers,
                       "Threads; at most two of them share a wave, or a greedy run")
          ->capture_default_str();
  verb->add_option("--waves", options->waves, "Waves of each permutation")->capture_default_str();
  verb->add_option("--packets", options->packets, "Packets of each input under greedy routing")
      ->capture_default_str();
  verb->add_option("--moves", options->moves, "Moves of a run, about")->capture_default_str();
  CLI::Option* const runs =
      verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
          ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed of the first permutation")->capture_default_str();
  auto in_band = std::make_shared<bool>(false);
  verb->add_flag(
      "--in-band", *in_band,
      "Waves on the workers of a running fabric: steps a second with 1 worker and with "
      "2, or up to --workers, beside what it costs these workers to wait for each other");
  verb->callback([&invocation, options, in_band, workers, runs] {
    if (!*in_band) {
      invocation.action = [common = invocation.common, options] {
        return BenchSteps(*options, common);
      };
      return;
    }
    dataplane::StepWorkerBenchOptions on_workers{
        .network = options->network, .waves = options->waves, .seed = options->seed};
    if (workers->count() > 0) on_workers.most_workers = options->workers;
    if (runs->count() > 0) on_workers.runs = options->runs;
    invocation.action = [common = invocation.common, on_workers] {
      return BenchStepWorkers(on_workers, common);
    };
  });
}

}  // namespace bfly::control
