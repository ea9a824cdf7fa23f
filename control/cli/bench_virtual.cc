// SPDX-License-Identifier: Apache-2.0
// bfly bench virtual: hops a second of the virtual clock, beside a plain loop in the same run.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "control/cli/bench_report.h"
#include "control/measure/packets/packet_point.h"
#include "dataplane/bench/virtual_bench.h"

namespace bfly::control {
namespace {

absl::Status BenchVirtual(const dataplane::VirtualBenchOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::VirtualBenchResult> result = dataplane::RunVirtualBench(options);
  if (!result.ok()) return result.status();
  using dataplane::StatisticsOf;
  const dataplane::RunStatistics wall = StatisticsOf(result->hops_per_second);
  const dataplane::RunStatistics cpu = StatisticsOf(result->hops_per_cpu_second);
  const dataplane::RunStatistics plain = StatisticsOf(result->baseline_hops_per_second);
  const dataplane::RunStatistics plain_cpu = StatisticsOf(result->baseline_hops_per_cpu_second);
  if (common.json) {
    const nlohmann::ordered_json out = {{"rows", options.network.rows},
                                        {"load", options.load},
                                        {"workers", options.workers},
                                        {"discipline", DisciplineName(options.discipline)},
                                        {"hops_per_second", wall.median},
                                        {"ns_per_hop", 1e9 / wall.median},
                                        {"bytes_per_link", result->bytes_per_link},
                                        {"queued_per_link", result->queued_per_link},
                                        {"mean_delay", result->mean_delay},
                                        {"runs", options.runs},
                                        {"units", result->units},
                                        {"seed", options.seed},
                                        {"hops", result->hops},
                                        {"hops_per_second_spread", SpreadJson(wall)},
                                        {"hops_per_cpu_second", SpreadJson(cpu)},
                                        {"baseline_hops_per_second", SpreadJson(plain)},
                                        {"baseline_hops_per_cpu_second", SpreadJson(plain_cpu)},
                                        {"ratio", wall.median / plain.median},
                                        {"cpu_ratio", cpu.median / plain_cpu.median},
                                        {"machine", ProcessorName()},
                                        {"compiler", BFLY_COMPILER}};
    printf("%s\n", out.dump(2).c_str());
    return absl::OkStatus();
  }
  printf(
      "butterfly of %u rows under the virtual clock, %s, load %.2f, %d worker%s, %d runs of %.0f "
      "units, seed %lu\n",
      options.network.rows, DisciplineName(options.discipline).c_str(), options.load,
      options.workers, options.workers == 1 ? "" : "s", options.runs, result->units,
      static_cast<unsigned long>(options.seed));
  printf("  bfly        %s hops/s, %.2f ns a hop; of CPU time %s hops/s\n",
         SpreadText(wall).c_str(), 1e9 / wall.median, SpreadText(cpu).c_str());
  printf("  plain loop  %s hops/s; of CPU time %s hops/s\n", SpreadText(plain).c_str(),
         SpreadText(plain_cpu).c_str());
  printf("  ratio       %.1f; of CPU time %.1f\n", wall.median / plain.median,
         cpu.median / plain_cpu.median);
  printf("  memory      %.1f bytes a link %s the %.2f packets that wait for it\n",
         result->bytes_per_link,
         options.discipline == dataplane::Discipline::kFifo ? "and 8 for each of" : "with",
         result->queued_per_link);
  printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
  return absl::OkStatus();
}

constexpr dataplane::Discipline kDisciplines[] = {dataplane::Discipline::kFifo,
                                                  dataplane::Discipline::kPriority,
                                                  dataplane::Discipline::kProcessorSharing};

}  // namespace

void AddVirtualBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(bench, invocation, "virtual",
                           "Hops a second under the virtual clock, beside a plain loop over queues",
                           "bfly bench virtual --rows 1024 --load 0.9 --workers 1 --json");
  auto options = std::make_shared<dataplane::VirtualBenchOptions>();
  verb->add_option("--rows", options->network.rows, "Rows of the butterfly, a power of two")
      ->capture_default_str();
  verb->add_option("--load", options->load,
                   "Share of the time each link is busy, above 0 and below 1")
      ->capture_default_str();
  auto discipline = std::make_shared<std::string>();
  std::vector<std::string> names;
  for (const dataplane::Discipline known : kDisciplines) names.push_back(DisciplineName(known));
  verb->add_option("--discipline", *discipline,
                   "How links serve packets; under priority half of them are urgent [fifo]")
      ->check(CLI::IsMember(names));
  verb->add_option("--workers", options->workers, "Threads that share the rows of each stage")
      ->capture_default_str();
  verb->add_option("--units", options->units,
                   "Units of virtual time in a run, 0: as many as give 20 million hops")
      ->capture_default_str();
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed of the first run's packets")
      ->capture_default_str();
  verb->callback([&invocation, options, discipline] {
    for (const dataplane::Discipline known : kDisciplines) {
      if (*discipline == DisciplineName(known)) options->discipline = known;
    }
    invocation.action = [common = invocation.common, options] {
      return BenchVirtual(*options, common);
    };
  });
}

}  // namespace bfly::control
