// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/in_band_bench.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_options.h"
#include "dataplane/core/percentile.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/in_band/in_band.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/elapsed.h"
#include "topologies/permutation.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

absl::Status CheckOptions(const InBandBenchOptions& o) {
  const int cpus = static_cast<int>(UsableCpus().size());
  return FirstError({CheckOption("workers", o.workers, 1, cpus), CheckOption("c", o.c, 1, 254),
                     CheckOption("runs", o.runs, 1, 10'000),
                     CheckOption("set_ups", o.set_ups, 1, 1'000'000),
                     CheckOption("data", o.data, 0.0, 1e9)});
}

FabricConfig ConfigOf(const InBandBenchOptions& options, const NetworkSpec& spec, int stages) {
  FabricConfig config;
  config.name = "bench";
  config.network = spec;
  config.idle = IdleMode::kPoll;
  config.placement = EqualParts(stages, options.workers);
  return config;
}

Quantiles QuantilesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {
      .p50 = PercentileOf(values, 50), .p99 = PercentileOf(values, 99), .highest = values.back()};
}

class Bench {
 public:
  Bench(const InBandBenchOptions& options, Fabric& fabric, InBand& in_band)
      : options_(options), fabric_(fabric), in_band_(in_band), everyone_(options.rows) {
    std::iota(everyone_.begin(), everyone_.end(), 0u);
    result_.options = options;
  }

  absl::StatusOr<InBandBenchResult> Run() {
    if (options_.data > 0) {
      const SourceConfig source{.rows = everyone_,
                                .packets_per_second = options_.data / options_.rows,
                                .destination = SourceConfig::Destination::kUniform,
                                .seed = options_.seed};
      if (absl::Status status = fabric_.SetSources({source}); !status.ok()) return status;
    }
    if (absl::Status status = Permutations(); !status.ok()) return status;
    if (absl::Status status = Singles(); !status.ok()) return status;
    if (absl::Status status = fabric_.Unload(); !status.ok()) return status;
    result_.conservation = fabric_.summary().conservation;
    return result_;
  }

 private:
  std::vector<InBandRequest> Wanted(int run) const {
    const std::vector<uint32_t> outputs = RandomPermutation(
        options_.seed + static_cast<uint64_t>(run), RandomStream::kPermutation, options_.rows);
    std::vector<InBandRequest> requests;
    for (Row input = 0; input < options_.rows; ++input) requests.push_back({input, outputs[input]});
    return requests;
  }

  // Each run does the walk, a round, all of collision and all of minimum, so what slows the machine
  // down for a while slows all of them.
  absl::Status Permutations() {
    std::vector<double> walk, walk_forward, walk_backward;
    std::vector<double> round, forward, backward, decide, collision, install, rounds, minimum;
    for (int run = 0; run < options_.runs; ++run) {
      const std::vector<InBandRequest> wanted = Wanted(run);
      const absl::StatusOr<InBand::WalkSeconds> walked = in_band_.Walk(wanted);
      if (!walked.ok()) return walked.status();
      walk.push_back(walked->forward + walked->backward);
      walk_forward.push_back(walked->forward);
      walk_backward.push_back(walked->backward);

      absl::StatusOr<InBandReport> report =
          in_band_.SetUp(wanted, CollisionParameters{.c = options_.c, .max_rounds = 1});
      if (!report.ok()) return report.status();
      round.push_back(report->seconds - report->install_seconds);
      forward.push_back(report->forward_seconds);
      backward.push_back(report->backward_seconds);
      decide.push_back(report->decide_seconds);
      if (absl::Status status = in_band_.Release(everyone_).status(); !status.ok()) return status;

      report = in_band_.SetUp(wanted, CollisionParameters{.c = options_.c});
      if (!report.ok()) return report.status();
      collision.push_back(report->seconds);
      install.push_back(report->install_seconds);
      rounds.push_back(report->rounds);
      if (absl::Status status = in_band_.Release(everyone_).status(); !status.ok()) return status;

      report = in_band_.SetUp(wanted, MinimumParameters{});
      if (!report.ok()) return report.status();
      minimum.push_back(report->seconds);
      if (absl::Status status = in_band_.Release(everyone_).status(); !status.ok()) return status;
    }
    result_.walk = StatisticsOf(walk);
    result_.walk_forward = StatisticsOf(walk_forward);
    result_.walk_backward = StatisticsOf(walk_backward);
    result_.round = StatisticsOf(round);
    result_.round_forward = StatisticsOf(forward);
    result_.round_backward = StatisticsOf(backward);
    result_.round_decide = StatisticsOf(decide);
    result_.ratio = result_.round.median / result_.walk.median;
    result_.collision = StatisticsOf(collision);
    result_.install = StatisticsOf(install);
    result_.rounds = StatisticsOf(rounds);
    result_.minimum = StatisticsOf(minimum);
    return absl::OkStatus();
  }

  // Odd inputs have circuits. Even inputs get a circuit one at a time and lose it again.
  absl::Status Singles() {
    std::vector<InBandRequest> standing, coming;
    for (const InBandRequest& request : Wanted(0)) {
      (request.input % 2 != 0 ? standing : coming).push_back(request);
    }
    if (absl::Status status = in_band_.SetUp(standing, MinimumParameters{}).status(); !status.ok())
      return status;
    std::vector<double> took, seen, released;
    for (int i = 0; i < options_.set_ups; ++i) {
      const InBandRequest& request = coming[static_cast<size_t>(i) % coming.size()];
      Clock::time_point start = Clock::now();
      const absl::StatusOr<InBandReport> report = in_band_.SetUp({request}, MinimumParameters{});
      seen.push_back(SecondsSince(start));
      if (!report.ok()) return report.status();
      took.push_back(report->set_up_seconds[0]);
      start = Clock::now();
      const absl::Status status = in_band_.Release({request.input}).status();
      released.push_back(SecondsSince(start));
      if (!status.ok()) return status;
    }
    result_.set_up = QuantilesOf(took);
    result_.set_up_seen = QuantilesOf(seen);
    result_.release_seen = QuantilesOf(released);
    return absl::OkStatus();
  }

  const InBandBenchOptions options_;
  Fabric& fabric_;
  InBand& in_band_;
  std::vector<Row> everyone_;
  InBandBenchResult result_;
};

}  // namespace

absl::StatusOr<InBandBenchResult> RunInBandBench(const InBandBenchOptions& options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const NetworkSpec spec = {
      .kind = NetworkKind::kTwoFoldButterfly, .rows = options.rows, .seed = options.seed};
  const absl::StatusOr<Network> network = Network::Make(spec);
  if (!network.ok()) return network.status();
  const absl::StatusOr<std::unique_ptr<Fabric>> fabric =
      Fabric::Load(ConfigOf(options, spec, network->stages()));
  if (!fabric.ok()) return fabric.status();
  const absl::StatusOr<InBand*> in_band = (*fabric)->in_band();
  if (!in_band.ok()) return in_band.status();
  return Bench(options, **fabric, **in_band).Run();
}

}  // namespace bfly::dataplane
