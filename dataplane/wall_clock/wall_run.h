// SPDX-License-Identifier: Apache-2.0
// One run of a network on the wall clock, with real workers, links with a rate and built-in
// sources. It measures what is delivered and when.
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
  uint32_t bytes = 125;           // the size of every packet
  uint64_t bits_per_second = 0;   // the rate of every link; on a hypercube, of every cross link
  double packets_per_second = 0;  // the rate of every row
  ArrivalProcess process = ArrivalProcess::kPoisson;
  double slot = 0;  // seconds, for a process that has slots
  TrafficPatternSpec pattern = {.name = "uniform"};
  Discipline discipline = Discipline::kFifo;
  uint64_t seed = 0;
  double warmup = 0;    // seconds, not measured
  double duration = 0;  // seconds measured
  double drain = 0;     // the most seconds to wait for packets that are inside at the end
  int batches = 20;     // batches of equal length, for confidence intervals
  int workers = 1;      // workers, on different CPUs
  uint32_t queue_memory_mb = 256;  // for packets on links, shared by the workers
};

struct WallRunResult {
  uint64_t offered = 0;    // packets started in the measured time
  uint64_t delivered = 0;  // packets delivered in the measured time
  double seconds = 0;      // the length of the measured time
  // Packets of the whole run that are still inside after the drain, or were dropped because the
  // memory for packets on links was full.
  uint64_t unfinished = 0;
  LatencyReport latency;  // of packets delivered in the measured time
  // For consecutive parts of the measured time: packets, and the mean of latency.end_to_end.
  struct Batch {
    uint64_t packets = 0;
    double mean_ns = 0;
  };
  std::vector<Batch> batches;
  double mean_population = 0;  // packets in the network, sampled
  // Packets that left by each link in the measured time, indexed by network link.
  std::vector<uint64_t> link_packets;
};

// Loads a fabric of its own, runs it and unloads it. EAL must be up (runtime/eal.h). Calls
// `interrupted` now and then; if it returns true the run ends with Cancelled. InvalidArgument: more
// workers than CPUs or stages. Internal: packets were lost otherwise than for want of queue memory,
// which means a bug.
absl::StatusOr<WallRunResult> RunWall(const WallRunConfig& config,
                                      const std::function<bool()>& interrupted);

}  // namespace bfly::dataplane
