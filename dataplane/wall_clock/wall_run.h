// SPDX-License-Identifier: Apache-2.0
// One run of a network on the wall clock: real workers, links with a rate, built-in sources, and
// what was delivered when.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/links/link_shape.h"
#include "dataplane/telemetry/latency.h"
#include "topologies/arrivals.h"
#include "topologies/network.h"
#include "topologies/traffic_pattern.h"

namespace bfly::dataplane {

struct WallRunConfig {
  NetworkSpec network;
  uint32_t bytes = 125;           // of every packet
  uint64_t bits_per_second = 0;   // of every link, or on a hypercube of every link that crosses
  double packets_per_second = 0;  // of every row
  ArrivalProcess process = ArrivalProcess::kPoisson;
  double slot = 0;  // seconds, of a process that has slots
  TrafficPatternSpec pattern = {.name = "uniform"};
  LinkDiscipline discipline = LinkDiscipline::kFifo;
  uint64_t seed = 0;
  double warmup = 0;    // seconds, not measured
  double duration = 0;  // seconds measured
  double drain = 0;     // seconds at most, for what is inside at the end
  int batches = 20;     // of equal length, for confidence intervals
  int workers = 1;      // on different CPUs
};

struct WallRunResult {
  uint64_t offered = 0;     // packets started in the measured time
  uint64_t delivered = 0;   // in it
  double seconds = 0;       // the measured time as it was
  uint64_t unfinished = 0;  // still inside after the drain
  LatencyReport latency;    // of packets delivered in the measured time
  // Of consecutive parts of it: packets, and the mean of latency.end_to_end.
  struct Batch {
    uint64_t packets = 0;
    double mean_ns = 0;
  };
  std::vector<Batch> batches;
  double mean_population = 0;  // packets in the network, sampled
  // Packets that left by each link in the measured time, by network link index.
  std::vector<uint64_t> link_packets;
};

// Loads a fabric of its own, runs it and unloads it again. EAL must be up (runtime/eal.h).
// `interrupted` is asked now and then; when it says yes the run ends with Cancelled.
// InvalidArgument: more workers than CPUs or stages. Internal: packets got lost, which means a bug.
absl::StatusOr<WallRunResult> RunWall(const WallRunConfig& config,
                                      const std::function<bool()>& interrupted);

}  // namespace bfly::dataplane
