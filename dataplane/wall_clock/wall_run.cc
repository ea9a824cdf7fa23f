// SPDX-License-Identifier: Apache-2.0
#include "dataplane/wall_clock/wall_run.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/core/tsc_hz.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/runtime/cpus.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

// The time between two samples of the population.
constexpr std::chrono::milliseconds kSampleInterval{5};
// Counters are read again while reading them took more than this part of the measured time.
constexpr double kMostSkew = 0.001;
constexpr int kMostReadings = 20;
// `interrupted` is called at every so many samples.
constexpr int kLooksPerQuestion = 20;

// A hypercube's link that stays in its row represents no link of the cube, so crossing it takes no
// time.
LinkPlan PlanOf(const WallRunConfig& config, const Network& network) {
  LinkPlan plan;
  plan.base.bits_per_second = config.bits_per_second;
  plan.base.discipline = config.discipline;
  if (!network.straight_is_free()) return plan;
  for (int stage = 0; stage < network.stages(); ++stage) {
    for (Row row = 0; row < network.rows(); ++row) {
      for (int port = 0; port < network.ports(); ++port) {
        if (network.next_row(stage, row, port) != row) continue;
        plan.rules.push_back({.first_stage = stage,
                              .last_stage = stage,
                              .first_row = row,
                              .last_row = row,
                              .port = port,
                              .bits_per_second = 0});
      }
    }
  }
  return plan;
}

absl::StatusOr<FabricConfig> FabricOf(const WallRunConfig& config, const Network& network) {
  const std::vector<int> cpus = UsableCpus();
  const int stages = network.stages();
  const int most = std::min(stages, static_cast<int>(cpus.size()));
  if (config.workers < 1 || config.workers > most) {
    return absl::InvalidArgumentError(absl::StrCat("workers: ", config.workers, " is outside 1..",
                                                   most, ", the lesser of CPUs and stages"));
  }
  FabricConfig fabric;
  fabric.name = "measure";
  fabric.network = config.network;
  fabric.links = PlanOf(config, network);
  fabric.queue_memory_mb = config.queue_memory_mb;
  for (int w = 0; w < config.workers; ++w) {
    fabric.placement.push_back({.first_stage = stages * w / config.workers,
                                .last_stage = stages * (w + 1) / config.workers - 1,
                                .lcore = cpus[static_cast<size_t>(w)]});
  }
  return fabric;
}

SourceConfig SourcesOf(const WallRunConfig& config, const Network& network) {
  SourceConfig source;
  for (Row row = 0; row < network.rows(); ++row) source.rows.push_back(row);
  source.packets_per_second = config.packets_per_second;
  source.bytes = config.bytes;
  source.destination = SourceConfig::Destination::kPattern;
  source.pattern = config.pattern;
  source.seed = config.seed;
  source.process = config.process;
  source.slot = config.slot;
  source.id = 1;
  return source;
}

class WallRun {
 public:
  WallRun(Fabric& fabric, const WallRunConfig& config, const std::function<bool()>& interrupted)
      : fabric_(fabric), config_(config), interrupted_(interrupted) {}

  absl::StatusOr<WallRunResult> Run() {
    const absl::Status started = fabric_.SetSources({SourcesOf(config_, fabric_.network())});
    if (!started.ok()) return started;
    if (absl::Status status = WaitFor(config_.warmup); !status.ok()) return status;
    if (auto begun = fabric_.RecordLatency(true); !begun.ok()) return begun.status();
    population_ = samples_ = 0;
    const Snapshot before = CurrentCounts();
    for (int batch = 0; batch < config_.batches; ++batch) {
      if (absl::Status status = WaitFor(config_.duration / config_.batches); !status.ok()) {
        return status;
      }
      CloseBatch();
    }
    const Snapshot after = CurrentCounts();
    absl::StatusOr<LatencyReport> recorded = fabric_.RecordLatency(false);
    if (!recorded.ok()) return recorded.status();
    result_.latency = *std::move(recorded);
    result_.seconds = static_cast<double>(after.tsc - before.tsc) / static_cast<double>(TscHz());
    result_.offered = after.conservation.injected - before.conservation.injected;
    result_.delivered = after.conservation.delivered - before.conservation.delivered;
    for (size_t l = 0; l < after.links.size(); ++l) {
      result_.link_packets.push_back(after.links[l].packets - before.links[l].packets);
    }
    result_.mean_population = samples_ > 0 ? population_ / samples_ : 0;
    if (absl::Status status = Drain(); !status.ok()) return status;
    return std::move(result_);
  }

 private:
  static Clock::duration Length(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  absl::Status WaitFor(double seconds) {
    if (end_ == Clock::time_point()) end_ = Clock::now();
    // The end is counted from the end before, so that delays between the parts do not accumulate.
    end_ += Length(seconds);
    for (int look = 0; Clock::now() < end_; ++look) {
      if (look % kLooksPerQuestion == 0 && interrupted_()) {
        return absl::CancelledError("interrupted");
      }
      std::this_thread::sleep_until(std::min(end_, Clock::now() + kSampleInterval));
      population_ += static_cast<double>(fabric_.summary().conservation.in_flight);
      ++samples_;
    }
    return absl::OkStatus();
  }

  // The counters as they are at the time that the snapshot has, within kMostSkew of the duration if
  // a quiet moment comes. A worker that lost its CPU has not counted what left links meanwhile: the
  // pass that it is in may have read the clock long ago, and the next one counts all that is due.
  // This thread may lose its CPU between the clock and the counters.
  Snapshot CurrentCounts() {
    Snapshot nearest;
    Clock::duration least = Clock::duration::max();
    for (int i = 0; i < kMostReadings && least > Length(kMostSkew * config_.duration); ++i) {
      const Clock::time_point begin = Clock::now();
      fabric_.EndPasses();
      fabric_.EndPasses();
      Snapshot counts = fabric_.snapshot();
      const Clock::duration taken = Clock::now() - begin;
      if (taken >= least) continue;
      least = taken;
      nearest = std::move(counts);
    }
    return nearest;
  }

  void CloseBatch() {
    const LatencySummary now = fabric_.latency().end_to_end;
    const double sum = now.mean * static_cast<double>(now.count);
    const uint64_t packets = now.count - batch_packets_;
    if (packets > 0) {
      result_.batches.push_back({packets, (sum - batch_sum_) / static_cast<double>(packets)});
    }
    batch_packets_ = now.count;
    batch_sum_ = sum;
  }

  absl::Status Drain() {
    if (absl::Status status = fabric_.SetSources({}); !status.ok()) return status;
    const auto end = Clock::now() + Length(config_.drain);
    Snapshot last = fabric_.summary();
    while (last.conservation.in_flight > 0 && Clock::now() < end && !interrupted_()) {
      std::this_thread::sleep_for(kSampleInterval);
      last = fabric_.summary();
    }
    const Conservation& account = last.conservation;
    result_.unfinished = account.in_flight + account.dropped;
    // A network that cannot keep up fills the memory.
    const bool only_full =
        account.dropped == last.drops[static_cast<int>(DropReason::kQueueMemory)];
    if (only_full && account.injected == account.delivered + result_.unfinished) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat(
        "the account does not close: injected ", account.injected, ", delivered ",
        account.delivered, ", dropped ", account.dropped, ", in flight ", account.in_flight));
  }

  Fabric& fabric_;
  const WallRunConfig& config_;
  const std::function<bool()>& interrupted_;
  WallRunResult result_;
  Clock::time_point end_;
  double population_ = 0;
  double samples_ = 0;
  uint64_t batch_packets_ = 0;
  double batch_sum_ = 0;  // ns
};

}  // namespace

absl::StatusOr<WallRunResult> RunWall(const WallRunConfig& config,
                                      const std::function<bool()>& interrupted) {
  const absl::StatusOr<Network> network = Network::Make(config.network);
  if (!network.ok()) return network.status();
  const absl::StatusOr<FabricConfig> fabric_config = FabricOf(config, *network);
  if (!fabric_config.ok()) return fabric_config.status();
  const absl::StatusOr<std::unique_ptr<Fabric>> fabric = Fabric::Load(*fabric_config);
  if (!fabric.ok()) return fabric.status();
  absl::StatusOr<WallRunResult> result = WallRun(**fabric, config, interrupted).Run();
  // Unloading counts packets that are inside as dropped; the result was taken before.
  if (absl::Status status = (*fabric)->Unload(); !status.ok()) return status;
  return result;
}

}  // namespace bfly::dataplane
