// SPDX-License-Identifier: Apache-2.0
// bfly bench machine: what this machine can do at most, for the figures of the other benches.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/cli/bench_report.h"
#include "control/cli/syntax.h"
#include "dataplane/bench/machine_bench.h"

namespace bfly::control {
namespace {

std::string SizeText(uint64_t bytes) {
  return bytes < 1 << 20 ? absl::StrCat(bytes >> 10, " KiB") : absl::StrCat(bytes >> 20, " MiB");
}

std::string NsText(const dataplane::RunStatistics& ns) {
  return absl::StrFormat("%.2f ns (%.2f to %.2f)", ns.median, ns.lowest, ns.highest);
}

nlohmann::ordered_json SizesJson(const std::vector<dataplane::SizedFigure>& figures,
                                 const char* name) {
  auto out = nlohmann::ordered_json::array();
  for (const dataplane::SizedFigure& one : figures) {
    out.push_back({{"bytes", one.bytes}, {name, SpreadJson(one.figure)}});
  }
  return out;
}

void PrintText(const dataplane::MachineBenchOptions& options,
               const dataplane::MachineBenchResult& result) {
  printf("this machine without bfly, on CPU %d, %d runs of %.2f s\n", result.cpu, options.runs,
         options.seconds);
  for (const dataplane::SizedFigure& one : result.copies) {
    printf("  copy within %8s  %s bytes/s\n", SizeText(one.bytes).c_str(),
           SpreadText(one.figure).c_str());
  }
  for (const dataplane::SizedFigure& one : result.walks) {
    printf("  walk within %8s  %s a load\n", SizeText(one.bytes).c_str(),
           NsText(one.figure).c_str());
  }
  printf("  rte_ring on one core  %s a pointer in and out, %u at a time\n",
         NsText(result.ring_ns).c_str(), dataplane::kRingBurst);
  if (result.other_cpu.has_value()) {
    printf("  rte_ring from CPU %d   %s a pointer\n", *result.other_cpu,
           NsText(result.ring_across_ns).c_str());
  } else {
    printf("  rte_ring between two CPUs is left out: this process may use one only\n");
  }
  printf("%s, %s\n", ProcessorName().c_str(), BFLY_COMPILER);
}

absl::Status BenchMachine(const dataplane::MachineBenchOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::MachineBenchResult> result = dataplane::RunMachineBench(options);
  if (!result.ok()) return result.status();
  if (!common.json) {
    PrintText(options, *result);
    return absl::OkStatus();
  }
  nlohmann::ordered_json out = {{"cpu", result->cpu},
                                {"copies", SizesJson(result->copies, "bytes_per_second")},
                                {"walks", SizesJson(result->walks, "ns_per_load")},
                                {"ring_ns", SpreadJson(result->ring_ns)},
                                {"ring_burst", dataplane::kRingBurst}};
  if (result->other_cpu.has_value()) {
    out["other_cpu"] = *result->other_cpu;
    out["ring_across_ns"] = SpreadJson(result->ring_across_ns);
  } else {
    out["other_cpu"] = out["ring_across_ns"] = nullptr;
  }
  out["runs"] = options.runs;
  out["seconds"] = options.seconds;
  out["machine"] = ProcessorName();
  out["compiler"] = BFLY_COMPILER;
  printf("%s\n", out.dump(2).c_str());
  return absl::OkStatus();
}

}  // namespace

void AddMachineBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(bench, invocation, "machine",
                           "What this machine can do without bfly: copies, loads that wait for "
                           "each other, and rte_ring alone",
                           "bfly bench machine\n"
                           "  bfly bench machine --runs 9 --json");
  auto options = std::make_shared<dataplane::MachineBenchOptions>();
  verb->add_option("--seconds", options->seconds, "Measured time of a run")
      ->transform(TimeInSeconds())
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--runs", options->runs, "Runs of each figure")->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchMachine(*options, common);
    };
  });
}

}  // namespace bfly::control
