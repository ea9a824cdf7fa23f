// SPDX-License-Identifier: Apache-2.0
// How fast the virtual clock is, compared in the same run with a plain loop that has a queue for
// each link, first in first out. `bfly bench virtual` prints it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/links/discipline.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct VirtualBenchOptions {
  NetworkSpec network{.kind = NetworkKind::kButterfly, .rows = 1024};
  // The share of time that each link is busy, (0, 1). Rows generate 2 * load packets a unit for
  // uniform destinations.
  double load = 0.9;
  // Of all links. Under priority half of the packets are urgent.
  Discipline discipline = Discipline::kFifo;
  int workers = 1;   // 1..256
  double units = 0;  // units of measured time in a run, after a quarter more; 0: as many as give 20
                     // million hops
  int runs = 5;      // 1..100
  uint64_t seed = 1;
};

struct VirtualBenchResult {
  double units = 0;
  uint64_t hops = 0;  // hops of all runs
  // One entry for each run, in turn: hops of all workers by the wall clock, hops by the CPU time of
  // all workers added up, hops of the plain loop by the wall clock, by CPU time, and by its steps.
  std::vector<double> hops_per_second;
  std::vector<double> hops_per_cpu_second;
  std::vector<double> baseline_hops_per_second;
  std::vector<double> baseline_hops_per_cpu_second;
  std::vector<double> baseline_hops_per_step;
  // The bytes of state by link: VirtualResult's state_bytes without the 8 bytes of each packet that
  // waits.
  double bytes_per_link = 0;
  double queued_per_link = 0;  // packets that wait at the end of a run
  double mean_delay = 0;       // units
};

// InvalidArgument names the option and its range.
absl::StatusOr<VirtualBenchResult> RunVirtualBench(const VirtualBenchOptions& options);

}  // namespace bfly::dataplane
