// SPDX-License-Identifier: Apache-2.0
// bfly bench fabric: hops a second of the stage workers, beside a plain loop in the same run.
#include <cstdio>

#include "control/cli/bench_report.h"
#include "control/cli/syntax.h"
#include "dataplane/runtime/eal.h"

namespace bfly::control {
namespace {

absl::Status BenchFabric(const dataplane::FabricBenchOptions& options, const Common& common) {
  dataplane::EalOptions eal_options;
  const absl::StatusOr<dataplane::Eal> eal = dataplane::StartEal(eal_options);
  if (!eal.ok()) return eal.status();
  const absl::StatusOr<dataplane::FabricBenchResult> result = dataplane::RunFabricBench(options);
  dataplane::StopEal();
  if (!result.ok()) return result.status();
  if (common.json) {
    const nlohmann::ordered_json out = {
        {"rows", options.network.rows},
        {"multiplicity", options.network.multiplicity},
        {"rule", options.network.multiplicity > 1
                     ? RuleName(options.network.rule.value_or(kDefaultRule))
                     : absl::string_view()},
        {"load", options.load},
        {"workers", options.workers},
        {"hops_per_second", result->hops_per_second.median},
        {"ns_per_hop", result->ns_per_hop},
        {"runs", options.runs},
        {"seconds", options.seconds},
        {"seed", options.seed},
        {"hops_per_second_spread", SpreadJson(result->hops_per_second)},
        {"hops_per_cpu_second", SpreadJson(result->hops_per_cpu_second)},
        {"baseline_hops_per_second", SpreadJson(result->baseline_hops_per_second)},
        {"baseline_hops_per_cpu_second", SpreadJson(result->baseline_hops_per_cpu_second)},
        {"ratio", result->ratio},
        {"cpu_ratio", result->cpu_ratio},
        {"hops", result->hops},
        {"load_seconds", result->load_seconds},
        {"conservation", AccountJson(result->conservation)},
        {"machine", ProcessorName()},
        {"memory", eal->memory},
        {"dpdk_version", eal->dpdk_version},
        {"compiler", BFLY_COMPILER}};
    printf("%s\n", out.dump(2).c_str());
  } else {
    if (options.network.multiplicity > 1) {
      printf("%d links in place of each, picked by %s: ", options.network.multiplicity,
             std::string(RuleName(options.network.rule.value_or(kDefaultRule))).c_str());
    }
    printf("butterfly of %u rows, load %.2f, %d worker%s, %d runs of %.2f s, seed %lu\n",
           options.network.rows, options.load, options.workers, options.workers == 1 ? "" : "s",
           options.runs, options.seconds, static_cast<unsigned long>(options.seed));
    printf("  bfly        %s hops/s; of CPU time %s hops/s, %.1f ns a hop\n",
           SpreadText(result->hops_per_second).c_str(),
           SpreadText(result->hops_per_cpu_second).c_str(), result->ns_per_hop);
    printf("  plain loop  %s hops/s; of CPU time %s hops/s\n",
           SpreadText(result->baseline_hops_per_second).c_str(),
           SpreadText(result->baseline_hops_per_cpu_second).c_str());
    printf("  ratio       %.2f; of CPU time %.2f\n", result->ratio, result->cpu_ratio);
    printf("%s, %s, %s, %s\n", ProcessorName().c_str(), eal->memory.c_str(),
           eal->dpdk_version.c_str(), BFLY_COMPILER);
  }
  return CheckAccount(result->conservation);
}

}  // namespace

void AddFabricBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(bench, invocation, "fabric",
                           "Hops a second of the stage workers, beside a plain loop over queues",
                           "sudo bfly bench fabric --rows 1024 --load 0.9 --workers 1 --json");
  auto options = std::make_shared<dataplane::FabricBenchOptions>();
  verb->add_option("--rows", options->network.rows, "Rows of the butterfly, a power of two")
      ->capture_default_str();
  verb->add_option("--multiplicity", options->network.multiplicity,
                   "Links in place of each link of the butterfly, 1 to 8")
      ->capture_default_str();
  auto rule = std::make_shared<std::string>();
  std::vector<std::string> rules;
  for (const PortRule known : AllRules()) rules.emplace_back(RuleName(known));
  verb->add_option("--rule", *rule, "How a node picks among them [round_robin]")
      ->check(CLI::IsMember(rules));
  verb->add_option("--load", options->load, "Packets each row injects in a step, above 0 to 1")
      ->capture_default_str();
  verb->add_option("--workers", options->workers, "Stage workers, the stages shared out evenly")
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Measured time of a run")
      ->transform(TimeInSeconds())
      ->capture_default_str()
      ->type_name("TIME");
  verb->add_option("--runs", options->runs, "Runs: the median is reported, with the spread")
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed of the destinations")->capture_default_str();
  verb->callback([&invocation, options, rule] {
    if (!rule->empty()) options->network.rule = RuleFromName(*rule).value();
    if (options->network.multiplicity > 1) {
      options->network.kind = NetworkKind::kDilatedButterfly;
    }
    invocation.action = [common = invocation.common, options] {
      return BenchFabric(*options, common);
    };
  });
}

}  // namespace bfly::control
