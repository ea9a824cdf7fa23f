// SPDX-License-Identifier: Apache-2.0
// How fast the stages are, compared in the same run with a plain loop that has a queue for each
// link. `bfly bench fabric` prints it.
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
  // In each step every row injects a packet with this probability, (0, 1], to a uniform row. Links
  // have no rate, so the load only decides how many packets a worker finds at a time.
  double load = 0.9;
  int workers = 1;       // 1..usable CPUs; the stages are shared out evenly
  double seconds = 0.5;  // measured time of one run, 0.05..60
  int runs = 5;          // 1..100
  uint64_t seed = 1;
};

struct FabricBenchResult {
  FabricBenchOptions options;
  // By the wall clock, for all workers together and for the loop on its one thread.
  RunStatistics hops_per_second;
  RunStatistics baseline_hops_per_second;
  double ratio = 0;  // the quotient of the medians
  // By the CPU time of all workers added up. It is still comparable if workers share cores.
  RunStatistics hops_per_cpu_second;
  RunStatistics baseline_hops_per_cpu_second;
  double cpu_ratio = 0;
  double ns_per_hop = 0;      // CPU time, median
  uint64_t hops = 0;          // in the measured time of all runs
  double load_seconds = 0;    // Fabric::Load, median
  Conservation conservation;  // the account of all runs, after unloading
};

// EAL must be up. InvalidArgument names the option and its range.
absl::StatusOr<FabricBenchResult> RunFabricBench(const FabricBenchOptions& options);

}  // namespace bfly::dataplane
