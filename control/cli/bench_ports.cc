// SPDX-License-Identifier: Apache-2.0
// bfly bench ports: frames a second through ports and stages, beside dpdk-testpmd in the same run.
#include <cstdio>

#include "control/cli/bench_report.h"
#include "control/cli/syntax.h"
#include "dataplane/bench/port_bench.h"

namespace bfly::control {
namespace {

absl::Status BenchPorts(const dataplane::PortBenchOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::PortBenchResult> result = dataplane::RunPortBench(options);
  if (!result.ok()) return result.status();
  if (common.json) {
    const nlohmann::ordered_json out = {
        {"stages", options.stages},
        {"frame_bytes", options.frame_bytes},
        {"bfly_pps", result->bfly_pps.median},
        {"testpmd_pps", result->testpmd_pps.median},
        {"ratio", result->ratio},
        {"runs", options.runs},
        {"seconds", options.seconds},
        {"bfly_pps_spread", SpreadJson(result->bfly_pps)},
        {"testpmd_pps_spread", SpreadJson(result->testpmd_pps)},
        {"bfly_per_cpu_second", SpreadJson(result->bfly_per_cpu_second)},
        {"testpmd_per_cpu_second", SpreadJson(result->testpmd_per_cpu_second)},
        {"cpu_ratio", result->cpu_ratio},
        {"bfly_saturation", result->bfly_saturation},
        {"testpmd_saturation", result->testpmd_saturation},
        {"load_cpu", result->load_cpu},
        {"device_cpu", result->device_cpu},
        {"conservation", AccountJson(result->conservation)},
        {"machine", ProcessorName()},
        {"compiler", BFLY_COMPILER}};
    printf("%s\n", out.dump(2).c_str());
  } else {
    printf("%d-byte frames between two memif ports, butterfly of %d stages, %d runs of %.2f s\n",
           options.frame_bytes, options.stages, options.runs, options.seconds);
    printf("  bfly          %s frames/s; of CPU time %s\n", SpreadText(result->bfly_pps).c_str(),
           SpreadText(result->bfly_per_cpu_second).c_str());
    printf("  dpdk-testpmd  %s frames/s; of CPU time %s\n", SpreadText(result->testpmd_pps).c_str(),
           SpreadText(result->testpmd_per_cpu_second).c_str());
    printf("  ratio         %.2f; of CPU time %.2f\n", result->ratio, result->cpu_ratio);
    printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
  }
  return CheckAccount(result->conservation);
}

}  // namespace

void AddPortBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb =
      NewVerb(bench, invocation, "ports",
              "Frames a second from port to port through the stages, beside dpdk-testpmd between "
              "the same pair of memif ports",
              "sudo bfly bench ports --stages 6 --json");
  auto options = std::make_shared<dataplane::PortBenchOptions>();
  verb->add_option("--stages", options->stages, "Stages of the butterfly between the ports")
      ->capture_default_str();
  verb->add_option("--bytes", options->frame_bytes, "Frame length without FCS")
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Measured time of a run")
      ->transform(TimeInSeconds())
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--runs", options->runs, "Runs of each of the two, in turn")
      ->capture_default_str();
  verb->add_option("--testpmd", options->testpmd, "The dpdk-testpmd to compare with")
      ->capture_default_str()
      ->type_name("PROGRAM");
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchPorts(*options, common);
    };
  });
}

}  // namespace bfly::control
