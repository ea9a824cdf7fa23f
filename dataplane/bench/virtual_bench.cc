// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/virtual_bench.h"

#include <algorithm>
#include <chrono>
#include <queue>

#include "absl/strings/str_cat.h"
#include "dataplane/virtual_clock/cpu_seconds.h"
#include "dataplane/virtual_clock/virtual_fabric.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

constexpr double kHopsOfARun = 2e7;
constexpr double kLeastUnits = 60;  // a window of a large network is some 20 units
constexpr double kHopsOfALoop = 4e6;
constexpr double kLooksOfALoop = 4e8;  // at links, also idle ones: seconds
constexpr double kLeastSteps = 4;

struct Speed {
  double wall;
  double cpu;
  double hops_per_step;
};

// The loop that one writes first: a queue of packets for each link, time in steps, and in each step
// every link sends one packet on. As many steps as are timed, and at least two for each stage, fill
// the queues before.
Speed MeasurePlainLoop(const Network& network, double load, uint64_t seed) {
  std::vector<std::queue<WireTag>> links(network.link_count());
  const double per_step = network.rows() * network.stages() * 2 * load;
  const double wanted =
      std::min(kHopsOfALoop / per_step, kLooksOfALoop / static_cast<double>(network.link_count()));
  const auto timed = static_cast<uint64_t>(std::max(wanted, kLeastSteps));
  const uint64_t warm_up = std::max(timed, 2 * static_cast<uint64_t>(network.stages()));
  const auto threshold = static_cast<uint64_t>(load * 0x1p32);
  uint64_t hops = 0, counter = 0;
  double cpu = 0;
  auto start = std::chrono::steady_clock::now();
  for (uint64_t step = 0; step < warm_up + timed; ++step) {
    if (step == warm_up) {
      hops = 0;
      cpu = CpuSeconds();
      start = std::chrono::steady_clock::now();
    }
    for (int stage = network.stages() - 1; stage >= 0; --stage) {
      for (Row row = 0; row < network.rows(); ++row) {
        for (int port = 0; port < 2; ++port) {
          std::queue<WireTag>& queue = links[network.link_index({stage, row, port})];
          if (queue.empty()) continue;
          const WireTag tag = queue.front();
          queue.pop();
          ++hops;
          if (stage + 1 == network.stages()) continue;
          const Row next = network.next_row(stage, row, port);
          links[network.link_index({stage + 1, next, static_cast<int>(tag >> 63)})].push(tag << 1);
        }
      }
    }
    for (Row row = 0; row < network.rows(); ++row) {
      // There are two chances in a step, so that links are as busy as under the virtual clock.
      const PhiloxBlock random = RandomBlock(seed, RandomStream::kTraffic, counter++);
      for (size_t i = 0; i < 2; ++i) {
        if (random[i] >= threshold) continue;
        const WireTag tag = ToWire(GreedyTag(network, row, random[2 + i] & (network.rows() - 1)),
                                   network.tag_layout().bits());
        links[network.link_index({0, row, static_cast<int>(tag >> 63)})].push(tag << 1);
      }
    }
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  const auto done = static_cast<double>(hops);
  return {.wall = done / wall.count(),
          .cpu = done / (CpuSeconds() - cpu),
          .hops_per_step = done / static_cast<double>(timed)};
}

absl::Status Check(const VirtualBenchOptions& options) {
  if (!(options.load > 0 && options.load < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("load: ", options.load, " is not above 0 and below 1"));
  }
  if (options.runs < 1 || options.runs > 100) {
    return absl::InvalidArgumentError(absl::StrCat("runs: ", options.runs, " is outside 1..100"));
  }
  if (!(options.units >= 0 && options.units <= 1e7)) {
    return absl::InvalidArgumentError(
        absl::StrCat("units: ", options.units, " is outside 0 (chosen) to 1e7"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VirtualBenchResult> RunVirtualBench(const VirtualBenchOptions& options) {
  if (absl::Status status = Check(options); !status.ok()) return status;
  const absl::StatusOr<Network> network = Network::Make(options.network);
  if (!network.ok()) return network.status();
  VirtualBenchResult result;
  const double hops_a_unit = network->rows() * network->stages() * 2 * options.load;
  result.units =
      options.units > 0 ? options.units : std::max(kHopsOfARun / hops_a_unit, kLeastUnits);
  VirtualConfig config;
  config.arrivals.rate = 2 * options.load;
  config.warmup = result.units / 4;
  config.duration = result.units;
  config.workers = options.workers;
  config.discipline = options.discipline;
  if (options.discipline == Discipline::kPriority) config.class_shares = {0.5, 0.5};
  const auto links = static_cast<double>(network->link_count());
  for (int run = 0; run < options.runs; ++run) {
    config.arrivals.seed = options.seed + static_cast<uint64_t>(run);
    const absl::StatusOr<VirtualResult> ran = RunVirtual(*network, config);
    if (!ran.ok()) return ran.status();
    const auto hops = static_cast<double>(ran->hops);
    result.hops += ran->hops;
    result.hops_per_second.push_back(hops / ran->seconds);
    result.hops_per_cpu_second.push_back(hops / ran->cpu_seconds);
    result.bytes_per_link = std::max(
        result.bytes_per_link, static_cast<double>(ran->state_bytes - ran->queued_bytes) / links);
    result.queued_per_link = static_cast<double>(ran->in_flight) / links;
    result.mean_delay = ran->mean_delay;
    const Speed plain = MeasurePlainLoop(*network, options.load, config.arrivals.seed);
    result.baseline_hops_per_second.push_back(plain.wall);
    result.baseline_hops_per_cpu_second.push_back(plain.cpu);
    result.baseline_hops_per_step.push_back(plain.hops_per_step);
  }
  return result;
}

}  // namespace bfly::dataplane
