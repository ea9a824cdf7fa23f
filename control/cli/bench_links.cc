// SPDX-License-Identifier: Apache-2.0
// bfly bench links: how exact rates and delays of links are.
#include <sys/utsname.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "control/cli/bench_report.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/topology_file/quantity.h"
#include "dataplane/bench/link_bench.h"
#include "dataplane/runtime/eal.h"

namespace bfly::control {
namespace {

std::string KernelName() {
  utsname name{};
  return uname(&name) == 0 ? absl::StrCat(name.sysname, " ", name.release) : "unknown";
}

void PrintText(const dataplane::LinkBenchResult& result, const dataplane::LinkBenchOptions& options,
               const dataplane::Eal& eal) {
  printf("median of %d runs of %.2f s (lowest to highest)\n", options.runs, options.seconds);
  printf("added delay, more than links of %s should add:\n",
         FormatDuration(result.delays.front().delay_ns).c_str());
  for (const auto& d : result.delays) {
    printf("  %2d stages: mean %.2f us (%.2f to %.2f), p99 %.2f us (%.2f to %.2f), most %.0f us\n",
           d.stages, d.mean_us.median, d.mean_us.lowest, d.mean_us.highest, d.p99_us.median,
           d.p99_us.lowest, d.p99_us.highest, d.max_us.highest);
  }
  printf("rate:\n");
  for (const auto& r : result.rates) {
    printf("  %2d stages at %8s: %.6g bit/s, off by %.4f %% (%.4f to %.4f)\n", r.stages,
           FormatRate(r.bits_per_second).c_str(), r.measured.median, r.error_percent.median,
           r.error_percent.lowest, r.error_percent.highest);
  }
  printf(
      "worker fell behind by %.2f us in the mean, %.2f us at p99 of the worst run, %.0f us at "
      "most (%s packets)\n",
      result.lateness.mean / 1e3, static_cast<double>(result.lateness.p99) / 1e3,
      static_cast<double>(result.lateness.max) / 1e3,
      Count(static_cast<double>(result.lateness.packets)).c_str());
  printf("%s, %s, %s, %s, %s\n", ProcessorName().c_str(), KernelName().c_str(), eal.memory.c_str(),
         eal.dpdk_version.c_str(), BFLY_COMPILER);
}

nlohmann::ordered_json ToJson(const dataplane::LinkBenchResult& result) {
  nlohmann::ordered_json delays = nlohmann::ordered_json::array();
  for (const auto& d : result.delays) {
    delays.push_back({{"stages", d.stages},
                      {"delay_us", static_cast<double>(d.delay_ns) / 1e3},
                      {"packets", d.packets},
                      {"error_mean_us", SpreadJson(d.mean_us)},
                      {"error_p99_us", SpreadJson(d.p99_us)},
                      {"error_max_us", SpreadJson(d.max_us)}});
  }
  nlohmann::ordered_json rates = nlohmann::ordered_json::array();
  for (const auto& r : result.rates) {
    rates.push_back({{"stages", r.stages},
                     {"bits_per_second", r.bits_per_second},
                     {"measured", SpreadJson(r.measured)},
                     {"error_percent", SpreadJson(r.error_percent)}});
  }
  return {{"delay", delays}, {"rate", rates}};
}

absl::Status BenchLinks(const dataplane::LinkBenchOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::Eal> eal = dataplane::StartEal({});
  if (!eal.ok()) return eal.status();
  const absl::StatusOr<dataplane::LinkBenchResult> result = dataplane::RunLinkBench(options);
  dataplane::StopEal();
  if (!result.ok()) return result.status();
  if (common.json) {
    nlohmann::ordered_json out = ToJson(*result);
    out["lateness"] = {{"packets", result->lateness.packets},
                       {"mean_us", result->lateness.mean / 1e3},
                       {"p99_us", static_cast<double>(result->lateness.p99) / 1e3},
                       {"max_us", static_cast<double>(result->lateness.max) / 1e3}};
    out["runs"] = options.runs;
    out["seconds"] = options.seconds;
    out["conservation"] = AccountJson(result->conservation);
    out["machine"] = ProcessorName();
    out["kernel"] = KernelName();
    out["memory"] = eal->memory;
    out["dpdk_version"] = eal->dpdk_version;
    out["compiler"] = BFLY_COMPILER;
    printf("%s\n", out.dump(2).c_str());
  } else {
    PrintText(*result, options, *eal);
  }
  return CheckAccount(result->conservation);
}

}  // namespace

void AddLinkBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(bench, invocation, "links",
                           "How exact rates and delays of links are, at 2 and at 10 stages",
                           "sudo bfly bench links --json");
  auto options = std::make_shared<dataplane::LinkBenchOptions>();
  verb->add_option("--seconds", options->seconds, "Measured time of a run")
      ->transform(TimeInSeconds())
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchLinks(*options, common);
    };
  });
}

}  // namespace bfly::control
