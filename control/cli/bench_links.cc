// SPDX-License-Identifier: Apache-2.0
// bfly bench links: how exact rates and delays of links are, and how fast.
#include <sys/utsname.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "control/cli/bench_report.h"
#include "control/cli/syntax.h"
#include "control/cli/text.h"
#include "control/topology_file/quantity.h"
#include "dataplane/bench/link_bench.h"
#include "dataplane/bench/link_speed_bench.h"
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

std::string ShapeText(const dataplane::LinkShape& shape) {
  if (!shape.keeps_packets()) return "no time";
  std::string text = FormatRate(shape.bits_per_second);
  if (shape.delay_ns != 0) absl::StrAppend(&text, ", ", FormatDuration(shape.delay_ns));
  if (shape.queue_limit != 0) absl::StrAppend(&text, ", queue ", shape.queue_limit);
  return text;
}

void PrintSpeedText(const dataplane::LinkSpeedResults& results,
                    const dataplane::LinkSpeedOptions& options) {
  printf(
      "60-byte packets over %d stages on one worker, median of %d runs of %.2f s (lowest to "
      "highest)\n",
      options.stages, options.runs, options.seconds);
  for (const dataplane::LinkSpeedResult& r : results.shapes) {
    printf("  %-22s %s packets/s, %s hops/s\n", ShapeText(r.shape).c_str(),
           SpreadText(r.packets_per_second).c_str(),
           Count(r.packets_per_second.median * options.stages).c_str());
    if (!r.shape.keeps_packets()) continue;
    printf(
        "  %-22s behind %.1f us in the mean, %.1f us at p99; at 0.8 of that rate %.1f us, %.1f us "
        "(%.1f to %.1f)\n",
        "", r.late_mean_us.median, r.late_p99_us.median, r.calm_mean_us.median,
        r.calm_p99_us.median, r.calm_p99_us.lowest, r.calm_p99_us.highest);
    printf(
        "  %-22s a loop that only reads the clock is behind by %.1f us, %.1f us at p99 "
        "(%.1f to %.1f) at 0.8 of that rate\n",
        "", r.clock_mean_us.median, r.clock_p99_us.median, r.clock_p99_us.lowest,
        r.clock_p99_us.highest);
  }
  printf("%s, %s, %s\n", ProcessorName().c_str(), KernelName().c_str(), BFLY_COMPILER);
}

absl::Status BenchLinkSpeed(const dataplane::LinkSpeedOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::Eal> eal = dataplane::StartEal({});
  if (!eal.ok()) return eal.status();
  const absl::StatusOr<dataplane::LinkSpeedResults> results = dataplane::RunLinkSpeedBench(options);
  dataplane::StopEal();
  if (!results.ok()) return results.status();
  if (!common.json) {
    PrintSpeedText(*results, options);
    return CheckAccount(results->conservation);
  }
  nlohmann::ordered_json speeds = nlohmann::ordered_json::array();
  for (const dataplane::LinkSpeedResult& r : results->shapes) {
    speeds.push_back({{"rate", FormatRate(r.shape.bits_per_second)},
                      {"delay", FormatDuration(r.shape.delay_ns)},
                      {"queue_limit", r.shape.queue_limit},
                      {"packets_per_second", SpreadJson(r.packets_per_second)},
                      {"hops_per_second", r.packets_per_second.median * options.stages},
                      {"late_mean_us", SpreadJson(r.late_mean_us)},
                      {"late_p99_us", SpreadJson(r.late_p99_us)},
                      {"calm_late_mean_us", SpreadJson(r.calm_mean_us)},
                      {"calm_late_p99_us", SpreadJson(r.calm_p99_us)},
                      {"clock_late_mean_us", SpreadJson(r.clock_mean_us)},
                      {"clock_late_p99_us", SpreadJson(r.clock_p99_us)}});
  }
  const nlohmann::ordered_json out = {{"speed", speeds},
                                      {"stages", options.stages},
                                      {"runs", options.runs},
                                      {"seconds", options.seconds},
                                      {"conservation", AccountJson(results->conservation)},
                                      {"machine", ProcessorName()},
                                      {"kernel", KernelName()},
                                      {"compiler", BFLY_COMPILER}};
  printf("%s\n", out.dump(2).c_str());
  return CheckAccount(results->conservation);
}

}  // namespace

void AddLinkBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(bench, invocation, "links",
                           "How exact rates and delays of links are, at 2 and at 10 stages; or how "
                           "many hops a second they allow",
                           "sudo bfly bench links --json");
  auto options = std::make_shared<dataplane::LinkBenchOptions>();
  verb->add_option("--seconds", options->seconds, "Measured time of a run")
      ->transform(TimeInSeconds())
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->capture_default_str();
  auto speed = std::make_shared<bool>(false);
  CLI::Option* const flag = verb->add_flag(
      "--speed", *speed,
      "Measure how many hops a second one worker does over links with a rate, a delay and queues, "
      "and how late it is at that rate and at 0.8 of it");
  auto stages = std::make_shared<int>(dataplane::LinkSpeedOptions().stages);
  verb->add_option("--stages", *stages, "With --speed: stages of the butterfly")
      ->needs(flag)
      ->capture_default_str();
  verb->callback([&invocation, options, speed, stages] {
    invocation.action = [common = invocation.common, options, speed, stages] {
      if (*speed) {
        return BenchLinkSpeed(
            {.stages = *stages, .seconds = options->seconds, .runs = options->runs}, common);
      }
      return BenchLinks(*options, common);
    };
  });
}

}  // namespace bfly::control
