// SPDX-License-Identifier: Apache-2.0
// How fast the stages are, beside a plain loop over a queue for each link in the same run. `bfly
// bench fabric` prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct FabricBenchOptions {
  NetworkSpec network{.kind = NetworkKind::kButterfly, .rows = 1024};
  // Packets a row injects a step: in each step every row injects one with this probability, to a
  // uniform row. Links have no rate yet, so load only says how many packets a worker finds at a
  // time. (0, 1].
  double load = 0.9;
  int workers = 1;       // 1..usable CPUs, stages shared out evenly
  double seconds = 0.5;  // measured time of one run, 0.05..60
  int runs = 5;          // 1..100
  uint64_t seed = 1;
};

struct FabricBenchResult {
  FabricBenchOptions options;
  // By the clock on the wall: all workers together, and the loop on its one thread.
  RunStatistics hops_per_second;
  RunStatistics baseline_hops_per_second;
  double ratio = 0;  // of the medians
  // By CPU time, of all workers added up: the same where each worker has its core to itself, and
  // what still says something where it has not.
  RunStatistics hops_per_cpu_second;
  RunStatistics baseline_hops_per_cpu_second;
  double cpu_ratio = 0;
  double ns_per_hop = 0;      // CPU time, median
  uint64_t hops = 0;          // measured, all runs
  double load_seconds = 0;    // Fabric::Load, median
  Conservation conservation;  // of all runs, after unloading
};

// EAL must be up. InvalidArgument names the option and its range.
absl::StatusOr<FabricBenchResult> RunFabricBench(const FabricBenchOptions& options);

}  // namespace bfly::dataplane
