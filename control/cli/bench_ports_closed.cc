// SPDX-License-Identifier: Apache-2.0
// The report of `bfly bench ports --closed`.
#include "control/cli/bench_ports_closed.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
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
  const auto over = [ratio = CheckPace(options, result).ok()](const dataplane::RunStatistics& it) {
    return ratio ? SpreadJson(it) : nlohmann::ordered_json();
  };
  nlohmann::ordered_json out = {{"stages", options.stages},
                                {"network", KindName(options.network.kind)},
                                {"multiplicity", options.network.multiplicity},
                                {"frame_bytes", options.frame_bytes},
                                {"devices", rings ? "ring" : "capture"},
                                {"circuits", options.circuits},
                                {"placement", placement},
                                {"port_pairs", result.port_pairs},
                                {"bfly_pps", result.bfly_pps.median},
                                {"one_core_pps", result.one_core_pps.median},
                                {"over_one_core", over(result.over_one_core)},
                                {"runs", options.runs},
                                {"seconds", options.seconds},
                                {"bfly_pps_spread", SpreadJson(result.bfly_pps)},
                                {"one_core_pps_spread", SpreadJson(result.one_core_pps)},
                                {"busy", result.busy},
                                {"one_core_busy", result.one_core_busy},
                                {"dropped_part", result.dropped_part},
                                {"on_cpu", result.on_cpu},
                                {"cpus", result.cpus},
                                {"conservation", AccountJson(result.conservation)},
                                {"machine", ProcessorName()},
                                {"compiler", BFLY_COMPILER}};
  for (const dataplane::ForwarderRuns& forwarder : result.testpmd) {
    const std::string name = "testpmd_" + forwarder.mode;
    out[name + "_pps"] = forwarder.pps.median;
    out[name + "_pps_spread"] = SpreadJson(forwarder.pps);
    out["over_" + name] = over(forwarder.bfly_over_it);
    out[name + "_on_cpu"] = forwarder.on_cpu;
  }
  if (result.open_vswitch_version.empty()) {
    out["open_vswitch"] = nullptr;
    out["no_open_vswitch"] = result.no_open_vswitch;
  } else {
    out["open_vswitch"] = result.open_vswitch_version;
    out["open_vswitch_on_cpu"] = result.open_vswitch_on_cpu;
    out["open_vswitch_pps"] = SpreadJson(result.open_vswitch_pps);
    out["open_vswitch_uncached_pps"] = SpreadJson(result.open_vswitch_uncached_pps);
    out["over_open_vswitch"] = over(result.over_open_vswitch);
  }
  if (options.circuits) {
    out["no_circuits_pps"] = result.no_circuits_pps.median;
    out["over_no_circuits"] = over(result.over_no_circuits);
  }
  if (!options.is_plain()) {
    out["plain_pps"] = result.plain_pps.median;
    out["over_plain"] = over(result.over_plain);
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

void PrintText(const dataplane::ClosedBenchOptions& options,
               const dataplane::ClosedBenchResult& result, const std::string& placement) {
  printf("%d-byte frames %s, %s of %d stages, placement %s on CPUs %s, %d runs of %.2f s\n",
         options.frame_bytes,
         options.devices == dataplane::ClosedDevices::kRing
             ? "that go round in the rings of net_ring"
             : "from an endless capture to net_null",
         std::string(KindName(options.network.kind)).c_str(), options.stages, placement.c_str(),
         dataplane::FormatCpus(result.cpus).c_str(), options.runs, options.seconds);
  const bool timed = options.links.keeps_packets();
  if (timed) {
    printf("  links: rate %s, delay %s, queue limit %u\n",
           FormatRate(options.links.bits_per_second).c_str(),
           FormatDuration(options.links.delay_ns).c_str(), options.links.queue_limit);
  }
  printf("  bfly              %s frames/s\n", SpreadText(result.bfly_pps).c_str());
  if (timed) {
    printf(
        "  behind            %.1f us (%.1f to %.1f) in the mean, %.1f us (%.1f to %.1f) at p99, "
        "from its load on\n",
        result.late_mean_us.median, result.late_mean_us.lowest, result.late_mean_us.highest,
        result.late_p99_us.median, result.late_p99_us.lowest, result.late_p99_us.highest);
  }
  const bool ratio = CheckPace(options, result).ok();
  const auto beside = [ratio](const std::string& name, const dataplane::RunStatistics& pps,
                              const dataplane::RunStatistics& over, const std::string& more = "") {
    printf("  %-17s %s frames/s", name.c_str(), SpreadText(pps).c_str());
    if (ratio) {
      printf("; bfly over it %.2f (%.2f to %.2f)", over.median, over.lowest, over.highest);
    }
    printf("%s\n", more.c_str());
  };
  beside("bfly on one core", result.one_core_pps, result.over_one_core);
  if (options.circuits) beside("without circuits", result.no_circuits_pps, result.over_no_circuits);
  if (!options.is_plain()) beside("plain butterfly", result.plain_pps, result.over_plain);
  for (const dataplane::ForwarderRuns& forwarder : result.testpmd) {
    beside("testpmd " + forwarder.mode, forwarder.pps, forwarder.bfly_over_it);
  }
  if (result.open_vswitch_version.empty()) {
    printf("  Open vSwitch      left out: %s\n", result.no_open_vswitch.c_str());
  } else {
    beside("Open vSwitch", result.open_vswitch_pps, result.over_open_vswitch,
           "; " + result.open_vswitch_version);
    printf("    without cache   %s frames/s\n",
           SpreadText(result.open_vswitch_uncached_pps).c_str());
  }
  printf(
      "  workers moved frames in %.1f %% of their passes, and had their CPUs for %.0f %% of the "
      "time\n",
      100 * result.busy, 100 * result.on_cpu);
}

}  // namespace

absl::Status BenchClosed(dataplane::ClosedBenchOptions options, const std::vector<int>& stages,
                         const std::string& placement, const Common& common) {
  for (const int count : stages) {
    options.stages = count;
    if (absl::Status wrong = CheckClosedBench(options); !wrong.ok()) return wrong;
  }
  auto reports = nlohmann::ordered_json::array();
  absl::Status status;
  for (const int count : stages) {
    options.stages = count;
    const absl::StatusOr<dataplane::ClosedBenchResult> result = dataplane::RunClosedBench(options);
    if (!result.ok()) {
      status = result.status();
      break;
    }
    if (common.json) {
      reports.push_back(Json(options, *result, placement));
    } else {
      PrintText(options, *result, placement);
    }
    for (const absl::Status& check :
         {CheckAccount(result->conservation), CheckPace(options, *result)}) {
      if (check.ok()) continue;
      status.Update({check.code(), absl::StrCat(count, " stages: ", check.message())});
    }
  }
  // An error does not hide what was measured before it.
  if (common.json && !reports.empty()) {
    printf("%s\n", (stages.size() == 1 ? reports[0] : reports).dump(2).c_str());
  } else if (!common.json) {
    printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
  }
  return status;
}

}  // namespace bfly::control
