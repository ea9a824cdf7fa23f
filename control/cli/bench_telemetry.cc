// SPDX-License-Identifier: Apache-2.0
// bfly bench telemetry: what a subscriber to the counters of all links costs the worker that
// carries the packets.
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/bench_report.h"
#include "control/cli/syntax.h"
#include "control/cli/telemetry_load.h"
#include "control/server/number_option.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::control {
namespace {

using dataplane::RunStatistics;
using dataplane::StatisticsOf;
using dataplane::StatisticsOver;

// The part of a figure that the subscriber takes from the worker, run by run.
template <typename Figure>
RunStatistics CostOf(const TelemetryBenchResult& result, Figure figure) {
  std::vector<double> costs;
  for (size_t i = 0; i < result.with.size(); ++i) {
    const double before = figure(result.without[i]);
    costs.push_back(before > 0 ? 1 - figure(result.with[i]) / before : 0);
  }
  return StatisticsOf(std::move(costs));
}

double Packets(const TelemetryLoad& load) { return load.packets; }
double ByCpu(const TelemetryLoad& load) { return load.by_cpu; }
double PerHop(const TelemetryLoad& load) { return load.per_hop; }
double Waited(const TelemetryLoad& load) { return load.waited; }
double Controller(const TelemetryLoad& load) { return load.controller; }
double Agent(const TelemetryLoad& load) { return load.agent; }
double Pictures(const TelemetryLoad& load) { return load.pictures; }

std::string PercentText(const RunStatistics& runs) {
  return absl::StrFormat("%.2f %% (%.2f to %.2f)", 100 * runs.median, 100 * runs.lowest,
                         100 * runs.highest);
}

nlohmann::ordered_json LoadJson(const std::vector<TelemetryLoad>& loads) {
  return {{"packets_per_second", SpreadJson(StatisticsOver(loads, Packets))},
          {"packets_per_cpu_second", SpreadJson(StatisticsOver(loads, ByCpu))},
          {"cycles_per_hop", SpreadJson(StatisticsOver(loads, PerHop))},
          {"waited", SpreadJson(StatisticsOver(loads, Waited))},
          {"controller_cpu", SpreadJson(StatisticsOver(loads, Controller))},
          {"agent_cpu", SpreadJson(StatisticsOver(loads, Agent))},
          {"pictures_per_second", SpreadJson(StatisticsOver(loads, Pictures))}};
}

void PrintTelemetryJson(const TelemetryBenchOptions& options, const TelemetryBenchResult& result,
                        int worker_cpu) {
  const nlohmann::ordered_json out = {{"rows", options.rows},
                                      {"links", result.links},
                                      {"interval_ms", options.interval_ms},
                                      {"cost", CostOf(result, ByCpu).median},
                                      {"runs", options.runs},
                                      {"seconds", options.seconds},
                                      {"seed", options.seed},
                                      {"cost_spread", SpreadJson(CostOf(result, ByCpu))},
                                      {"cost_of_packets", SpreadJson(CostOf(result, Packets))},
                                      {"without", LoadJson(result.without)},
                                      {"with", LoadJson(result.with)},
                                      {"worker_cpu", worker_cpu},
                                      {"conservation", AccountJson(result.account)},
                                      {"machine", ProcessorName()},
                                      {"compiler", BFLY_COMPILER}};
  printf("%s\n", out.dump(2).c_str());
}

void PrintTelemetryText(const TelemetryBenchOptions& options, const TelemetryBenchResult& result,
                        int worker_cpu) {
  printf(
      "two-fold butterfly of %u rows, one worker on CPU %d, everything else on other CPUs; %d runs "
      "of %g s each way, in turn\n",
      options.rows, worker_cpu, options.runs, options.seconds);
  const RunStatistics without = StatisticsOver(result.without, PerHop),
                      with = StatisticsOver(result.with, PerHop);
  printf("  without a subscriber   %s packets/s; %.2f cycles a hop\n",
         SpreadText(StatisticsOver(result.without, Packets)).c_str(), without.median);
  printf("  with a subscriber      %s packets/s; %.2f cycles a hop\n",
         SpreadText(StatisticsOver(result.with, Packets)).c_str(), with.median);
  printf("  which gets             %.1f pictures/s of %lu links\n",
         StatisticsOver(result.with, Pictures).median, static_cast<unsigned long>(result.links));
  printf("  cost to the worker     %s of its packets a CPU second; of its packets %s\n",
         PercentText(CostOf(result, ByCpu)).c_str(), PercentText(CostOf(result, Packets)).c_str());
  printf("  others on its CPU      %.2f %% of the time without, %.2f %% with\n",
         100 * StatisticsOver(result.without, Waited).median,
         100 * StatisticsOver(result.with, Waited).median);
  printf("  controller             %.1f %% of a CPU without, %.1f %% with\n",
         100 * StatisticsOver(result.without, Controller).median,
         100 * StatisticsOver(result.with, Controller).median);
  printf("  agent                  %.1f %% of a CPU without, %.1f %% with\n",
         100 * StatisticsOver(result.without, Agent).median,
         100 * StatisticsOver(result.with, Agent).median);
  printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
}

absl::Status BenchTelemetry(const TelemetryBenchOptions& options, const Common& common) {
  if (absl::Status status = CheckTelemetryOptions(options); !status.ok()) return status;
  if (dataplane::UsableCpus().size() < 2) {
    return absl::UnavailableError(
        absl::StrCat("two CPUs are needed, one for the worker and one for everything else; this "
                     "process may use only ",
                     dataplane::FormatCpus(dataplane::UsableCpus())));
  }
  const int worker_cpu = dataplane::UsableCpus().back();
  SignalReader signals;  // before gRPC starts threads
  const auto fabric = ServedFabric::Start(
      ServedFabric::OneWorker("bench-telemetry", options.rows, options.seed, worker_cpu), signals);
  if (!fabric.ok()) return fabric.status();
  const absl::StatusOr<TelemetryBenchResult> result =
      RunTelemetryBench(options, **fabric, worker_cpu, signals);
  if (!result.ok()) return result.status();
  if (common.json) {
    PrintTelemetryJson(options, *result, worker_cpu);
  } else {
    PrintTelemetryText(options, *result, worker_cpu);
  }
  return CheckAccount(result->account);
}

}  // namespace

void AddTelemetryBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(
      bench, invocation, "telemetry",
      "What a subscriber to the counters of all links costs the worker that carries the packets, "
      "with and without it in turn. Starts a controller and a data plane of its own",
      "bfly bench telemetry --rows 1024 --interval 100ms --json");
  auto options = std::make_shared<TelemetryBenchOptions>();
  verb->add_option("--rows", options->rows, "Rows of the two-fold butterfly, a power of two")
      ->check(CLI::Range(2u, 1u << 14))
      ->capture_default_str();
  verb->add_option("--interval", options->interval_ms, "Time between two pictures")
      ->transform(TimeInMilliseconds())
      ->check(CLI::Range(10u, 60000u))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Length of each measurement of a run")
      ->transform(TimeInSeconds())
      ->check(NumberFrom(0.1, 3600.0))
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--seed", options->seed, "Seed of network and traffic")->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchTelemetry(*options, common);
    };
  });
}

}  // namespace bfly::control
