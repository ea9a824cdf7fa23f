// SPDX-License-Identifier: Apache-2.0
// bfly bench circuits: set-ups a second of a circuit protocol, beside its textbook implementation
// in the same run.
#include <cstdio>

#include "control/bench/circuit_bench.h"
#include "control/cli/bench_report.h"
#include "control/cli/text.h"
#include "control/protocols/protocol.h"

namespace bfly::control {
namespace {

absl::Status BenchCircuits(const CircuitBenchOptions& options, const Common& common) {
  const absl::StatusOr<CircuitBenchResult> result = RunCircuitBench(options);
  if (!result.ok()) return result.status();
  const auto operations = static_cast<double>(result->operations);
  const double ratio = result->textbook_seconds.median / result->seconds.median;
  if (common.json) {
    const nlohmann::ordered_json out = {
        {"protocol", options.protocol},
        {"network", result->network},
        {"rows", options.rows},
        {"operations", result->operations},
        {"operations_per_second", operations / result->seconds.median},
        {"seconds", result->seconds.median},
        {"runs", options.runs},
        {"textbook_runs", result->textbook_runs},
        {"workers", options.workers},
        {"seed", options.seed},
        {"seconds_spread", SpreadJson(result->seconds)},
        {"cpu_seconds_spread", SpreadJson(result->cpu_seconds)},
        {"textbook_operations_per_second", operations / result->textbook_seconds.median},
        {"textbook_seconds_spread", SpreadJson(result->textbook_seconds)},
        {"ratio", ratio},
        {"peak_memory_bytes", result->peak_bytes},
        {"machine", ProcessorName()},
        {"compiler", BFLY_COMPILER}};
    printf("%s\n", out.dump(2).c_str());
    return absl::OkStatus();
  }
  const auto line = [&](const char* what, const dataplane::RunStatistics& seconds) {
    printf("  %-9s %s operations/s (%s to %s), %.4g ms a run\n", what,
           Count(operations / seconds.median).c_str(), Count(operations / seconds.highest).c_str(),
           Count(operations / seconds.lowest).c_str(), seconds.median * 1e3);
  };
  printf(
      "%s on a %s of %u rows, %s operations a run, %d runs (textbook: %d), seed %lu, %u worker%s\n",
      options.protocol.c_str(), result->network.c_str(), options.rows, Count(operations).c_str(),
      options.runs, result->textbook_runs, static_cast<unsigned long>(options.seed),
      options.workers, options.workers == 1 ? "" : "s");
  line("bfly", result->seconds);
  line("textbook", result->textbook_seconds);
  printf("  ratio     %.2f\n  memory    %.0f MiB at most, without the textbook\n%s, %s\n", ratio,
         static_cast<double>(result->peak_bytes) / (1 << 20), ProcessorName().c_str(),
         BFLY_COMPILER);
  return absl::OkStatus();
}

}  // namespace

void AddCircuitBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(bench, invocation, "circuits",
              "Set-ups a second of a circuit protocol, beside a plain textbook implementation",
              "bfly bench circuits --protocol minimum --rows 1024 --json");
  auto options = std::make_shared<CircuitBenchOptions>();
  verb->add_option("--protocol", options->protocol,
                   "minimum: set-ups and releases, one at a time; the others: all paths of a "
                   "random permutation")
      ->check(CLI::IsMember(BenchedProtocols()))
      ->capture_default_str();
  verb->add_option("--rows", options->rows, "Rows of the network, a power of two")
      ->capture_default_str();
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed of network and permutation")
      ->capture_default_str();
  verb->add_option(
          "--workers", options->workers,
          "collision, benes: threads that choose the paths, started anew for each permutation; "
          "the textbook has one")
      ->check(CLI::Range(1u, kMaxWorkers))
      ->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchCircuits(*options, common);
    };
  });
}

}  // namespace bfly::control
