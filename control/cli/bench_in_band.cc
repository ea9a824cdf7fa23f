// SPDX-License-Identifier: Apache-2.0
// bfly bench in-band: the time that stage workers take to set circuits up in band, beside a bare
// walk of the same packets.
#include <cstdio>

#include "control/cli/bench_report.h"
#include "dataplane/bench/in_band_bench.h"
#include "dataplane/runtime/eal.h"

namespace bfly::control {
namespace {

using dataplane::InBandBenchOptions;
using dataplane::InBandBenchResult;
using dataplane::Quantiles;
using dataplane::RunStatistics;

nlohmann::ordered_json Json(const Quantiles& q) {
  return {{"p50", q.p50}, {"p99", q.p99}, {"highest", q.highest}};
}

void PrintJson(const InBandBenchResult& r, const dataplane::Eal& eal) {
  const InBandBenchOptions& o = r.options;
  const nlohmann::ordered_json out = {{"rows", o.rows},
                                      {"workers", o.workers},
                                      {"c", o.c},
                                      {"runs", o.runs},
                                      {"data_packets_per_second", o.data},
                                      {"seed", o.seed},
                                      {"round_seconds", SpreadJson(r.round)},
                                      {"round_forward_seconds", SpreadJson(r.round_forward)},
                                      {"round_backward_seconds", SpreadJson(r.round_backward)},
                                      {"round_decide_seconds", SpreadJson(r.round_decide)},
                                      {"walk_seconds", SpreadJson(r.walk)},
                                      {"walk_forward_seconds", SpreadJson(r.walk_forward)},
                                      {"walk_backward_seconds", SpreadJson(r.walk_backward)},
                                      {"ratio", r.ratio},
                                      {"collision_seconds", SpreadJson(r.collision)},
                                      {"rounds", SpreadJson(r.rounds)},
                                      {"install_seconds", SpreadJson(r.install)},
                                      {"set_ups", o.set_ups},
                                      {"set_up_seconds", Json(r.set_up)},
                                      {"set_up_seen_seconds", Json(r.set_up_seen)},
                                      {"release_seen_seconds", Json(r.release_seen)},
                                      {"minimum_permutation_seconds", SpreadJson(r.minimum)},
                                      {"conservation", AccountJson(r.conservation)},
                                      {"machine", ProcessorName()},
                                      {"memory", eal.memory},
                                      {"dpdk_version", eal.dpdk_version},
                                      {"compiler", BFLY_COMPILER}};
  printf("%s\n", out.dump(2).c_str());
}

void PrintText(const InBandBenchResult& r, const dataplane::Eal& eal) {
  const auto us = [](double seconds) { return seconds * 1e6; };
  const auto line = [&](const char* what, const RunStatistics& s) {
    printf("  %-22s %9.1f us (%.1f to %.1f)\n", what, us(s.median), us(s.lowest), us(s.highest));
  };
  const auto quantiles = [&](const char* what, const Quantiles& q) {
    printf("  %-22s p50 %.2f us, p99 %.2f us, highest %.1f us\n", what, us(q.p50), us(q.p99),
           us(q.highest));
  };
  const InBandBenchOptions& o = r.options;
  printf(
      "two-fold butterfly of %u rows, %d worker%s, data %.3g packets/s, %d runs, %d set-ups, seed "
      "%lu\n",
      o.rows, o.workers, o.workers == 1 ? "" : "s", o.data, o.runs, o.set_ups,
      static_cast<unsigned long>(o.seed));
  printf("collision, first round: 2 x %u paths\n", o.rows);
  line("forward", r.round_forward);
  line("backward", r.round_backward);
  line("decide", r.round_decide);
  line("round", r.round);
  printf("the same packets, doing nothing\n");
  line("forward", r.walk_forward);
  line("backward", r.walk_backward);
  line("walk", r.walk);
  printf("  round / walk           %9.2f\n", r.ratio);
  printf("collision, all %.0f rounds, c = %u\n", r.rounds.median, o.c);
  line("with the installing", r.collision);
  line("of it installing", r.install);
  printf("minimum\n");
  quantiles("probe to acknowledged", r.set_up);
  quantiles("set-up as asked for", r.set_up_seen);
  quantiles("release as asked for", r.release_seen);
  line("a whole permutation", r.minimum);
  printf("%s, %s, %s, %s\n", ProcessorName().c_str(), eal.memory.c_str(), eal.dpdk_version.c_str(),
         BFLY_COMPILER);
}

absl::Status BenchInBand(const InBandBenchOptions& options, const Common& common) {
  const absl::StatusOr<dataplane::Eal> eal = dataplane::StartEal(dataplane::EalOptions());
  if (!eal.ok()) return eal.status();
  const absl::StatusOr<InBandBenchResult> result = dataplane::RunInBandBench(options);
  dataplane::StopEal();
  if (!result.ok()) return result.status();
  if (common.json) {
    PrintJson(*result, *eal);
  } else {
    PrintText(*result, *eal);
  }
  return CheckAccount(result->conservation);
}

}  // namespace

void AddInBandBench(CLI::App& bench, Invocation& invocation) {
  CLI::App* verb = NewVerb(bench, invocation, "in-band",
                           "Time of circuits that stage workers set up by themselves, beside the "
                           "bare walk of their packets",
                           "sudo bfly bench in-band --rows 1024 --json");
  auto options = std::make_shared<InBandBenchOptions>();
  verb->add_option("--rows", options->rows, "Rows of the two-fold butterfly, a power of two")
      ->capture_default_str();
  verb->add_option("--workers", options->workers, "Stage workers, the stages shared out evenly")
      ->capture_default_str();
  verb->add_option("--c", options->c, "collision: paths a link may have")->capture_default_str();
  verb->add_option("--runs", options->runs, "Permutations: the median is reported, and the spread")
      ->capture_default_str();
  verb->add_option("--set-ups", options->set_ups, "Single set-ups by minimum")
      ->capture_default_str();
  verb->add_option("--data", options->data,
                   "Data packets a second that cross the fabric meanwhile, all rows together")
      ->capture_default_str();
  verb->add_option("--seed", options->seed, "Seed of network and permutations")
      ->capture_default_str();
  verb->callback([&invocation, options] {
    invocation.action = [common = invocation.common, options] {
      return BenchInBand(*options, common);
    };
  });
}

}  // namespace bfly::control
