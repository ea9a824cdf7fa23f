// SPDX-License-Identifier: Apache-2.0
// The report of `bfly bench ports --closed`.
#include "control/cli/bench_ports_closed.h"

#include <cstdio>
#include <string>

#include "control/cli/bench_report.h"
#include "control/topology_file/quantity.h"
#include "dataplane/runtime/cpus.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

nlohmann::ordered_json Json(const dataplane::ClosedBenchOptions& options,
                            const dataplane::ClosedBenchResult& result,
                            const std::string& placement) {
  const bool rings = options.devices == dataplane::ClosedDevices::kRing;
  nlohmann::ordered_json out = {{"stages", options.stages},
                                {"network", KindName(options.network.kind)},
                                {"multiplicity", options.network.multiplicity},
                                {"frame_bytes", options.frame_bytes},
                                {"devices", rings ? "ring" : "capture"},
                                {"circuits", options.circuits},
                                {"placement", placement},
                                {"port_pairs", result.port_pairs},
                                {"bfly_pps", result.bfly_pps.median},
                                {"testpmd_io_pps", result.testpmd_io_pps.median},
                                {"testpmd_mac_pps", result.testpmd_mac_pps.median},
                                {"ratio", result.ratio},
                                {"one_core_pps", result.one_core_pps.median},
                                {"over_one_core", SpreadJson(result.over_one_core)},
                                {"runs", options.runs},
                                {"seconds", options.seconds},
                                {"bfly_pps_spread", SpreadJson(result.bfly_pps)},
                                {"one_core_pps_spread", SpreadJson(result.one_core_pps)},
                                {"testpmd_io_pps_spread", SpreadJson(result.testpmd_io_pps)},
                                {"testpmd_mac_pps_spread", SpreadJson(result.testpmd_mac_pps)},
                                {"busy", result.busy},
                                {"cpus", result.cpus},
                                {"conservation", AccountJson(result.conservation)},
                                {"machine", ProcessorName()},
                                {"compiler", BFLY_COMPILER}};
  if (result.open_vswitch_version.empty()) {
    out["open_vswitch"] = nullptr;
    out["no_open_vswitch"] = result.no_open_vswitch;
  } else {
    out["open_vswitch"] = result.open_vswitch_version;
    out["open_vswitch_pps"] = SpreadJson(result.open_vswitch_pps);
    out["open_vswitch_uncached_pps"] = SpreadJson(result.open_vswitch_uncached_pps);
    out["over_open_vswitch"] = SpreadJson(result.over_open_vswitch);
  }
  if (options.circuits) {
    out["no_circuits_pps"] = result.no_circuits_pps.median;
    out["over_no_circuits"] = SpreadJson(result.over_no_circuits);
  }
  if (!options.is_plain()) {
    out["plain_pps"] = result.plain_pps.median;
    out["over_plain"] = SpreadJson(result.over_plain);
  }
  if (options.links.keeps_packets()) {
    out["links"] = {{"rate", FormatRate(options.links.bits_per_second)},
                    {"delay", FormatDuration(options.links.delay_ns)},
                    {"queue_limit", options.links.queue_limit}};
    out["late_mean_us"] = SpreadJson(result.late_mean_us);
    out["late_p99_us"] = SpreadJson(result.late_p99_us);
  }
  return out;
}

}  // namespace

absl::Status BenchClosed(const dataplane::ClosedBenchOptions& options, const std::string& placement,
                         const Common& common) {
  const absl::StatusOr<dataplane::ClosedBenchResult> result = dataplane::RunClosedBench(options);
  if (!result.ok()) return result.status();
  if (common.json) {
    printf("%s\n", Json(options, *result, placement).dump(2).c_str());
  } else {
    printf("%d-byte frames %s, %s of %d stages, placement %s on CPUs %s, %d runs of %.2f s\n",
           options.frame_bytes,
           options.devices == dataplane::ClosedDevices::kRing
               ? "that go round in the rings of net_ring"
               : "from an endless capture to net_null",
           std::string(KindName(options.network.kind)).c_str(), options.stages, placement.c_str(),
           dataplane::FormatCpus(result->cpus).c_str(), options.runs, options.seconds);
    const bool timed = options.links.keeps_packets();
    if (timed) {
      printf("  links: rate %s, delay %s, queue limit %u\n",
             FormatRate(options.links.bits_per_second).c_str(),
             FormatDuration(options.links.delay_ns).c_str(), options.links.queue_limit);
    }
    printf("  bfly              %s frames/s\n", SpreadText(result->bfly_pps).c_str());
    if (timed) {
      printf(
          "  behind            %.1f us (%.1f to %.1f) in the mean, %.1f us (%.1f to %.1f) at p99\n",
          result->late_mean_us.median, result->late_mean_us.lowest, result->late_mean_us.highest,
          result->late_p99_us.median, result->late_p99_us.lowest, result->late_p99_us.highest);
    }
    const dataplane::RunStatistics& over = result->over_one_core;
    printf("  bfly on one core  %s frames/s; bfly over it %.2f (%.2f to %.2f)\n",
           SpreadText(result->one_core_pps).c_str(), over.median, over.lowest, over.highest);
    if (options.circuits) {
      const dataplane::RunStatistics& quotient = result->over_no_circuits;
      printf("  without circuits  %s frames/s; bfly over it %.2f (%.2f to %.2f)\n",
             SpreadText(result->no_circuits_pps).c_str(), quotient.median, quotient.lowest,
             quotient.highest);
    }
    if (!options.is_plain()) {
      const dataplane::RunStatistics& plain = result->over_plain;
      printf("  plain butterfly   %s frames/s; bfly over it %.2f (%.2f to %.2f)\n",
             SpreadText(result->plain_pps).c_str(), plain.median, plain.lowest, plain.highest);
    }
    printf("  dpdk-testpmd io   %s frames/s\n", SpreadText(result->testpmd_io_pps).c_str());
    printf("  dpdk-testpmd mac  %s frames/s\n", SpreadText(result->testpmd_mac_pps).c_str());
    if (result->open_vswitch_version.empty()) {
      printf("  Open vSwitch      left out: %s\n", result->no_open_vswitch.c_str());
    } else {
      const dataplane::RunStatistics& quotient = result->over_open_vswitch;
      printf("  Open vSwitch      %s frames/s; bfly over it %.2f (%.2f to %.2f); %s\n",
             SpreadText(result->open_vswitch_pps).c_str(), quotient.median, quotient.lowest,
             quotient.highest, result->open_vswitch_version.c_str());
      printf("    without cache   %s frames/s\n",
             SpreadText(result->open_vswitch_uncached_pps).c_str());
    }
    printf("  ratio to io       %.2f; workers moved frames in %.1f %% of their passes\n",
           result->ratio, 100 * result->busy);
    printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
  }
  return CheckAccount(result->conservation);
}

}  // namespace bfly::control
