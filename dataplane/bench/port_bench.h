// SPDX-License-Identifier: Apache-2.0
// How fast frames go from port to port through the stages, compared in the same run with
// dpdk-testpmd between the same pair of ports, under a load that a core of its own sends. `bfly
// bench ports` prints it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"

namespace bfly::dataplane {

struct PortBenchOptions {
  std::string ports = "memif";  // the name of a PortKind
  int stages = 6;               // of a butterfly of 2^stages rows, 1..20
  int frame_bytes = 64;         // without FCS, 60..1514
  double seconds = 1;           // measured time of one run, 0.1..60
  int runs = 5;                 // runs of each of the two programs, in turn; 1..100
  std::string testpmd = "dpdk-testpmd";
  double patience_seconds = 30;  // for the start of a program and for its answers, 0.1..600
};

struct PortBenchResult {
  PortBenchOptions options;
  int load_cpu = 0;    // generator and sink
  int device_cpu = 0;  // testpmd, or bfly
  RunStatistics bfly_pps;
  RunStatistics testpmd_pps;
  double ratio = 0;  // of the medians
  // Frames a second of the CPU time that the device's core really gave. It is still comparable on a
  // machine that is busy with other work.
  RunStatistics bfly_per_cpu_second;
  RunStatistics testpmd_per_cpu_second;
  double cpu_ratio = 0;
  // The share of the offered bursts that the device's full ring cut short. If it is near 0, the
  // generator is the bottleneck.
  double bfly_saturation = 0;     // the lowest of the runs
  double testpmd_saturation = 0;  // the lowest of the runs
  // Frames that the generator offered, over the frames that the device's ring took.
  double bfly_offered = 0;     // the lowest of the runs
  double testpmd_offered = 0;  // the lowest of the runs
  // The share of the frames that the device took and the generator did not get back. If it is
  // large, the generator did not empty the device's other ring in time.
  double bfly_lost = 0;       // the highest of the runs
  double testpmd_lost = 0;    // the highest of the runs
  Conservation conservation;  // of bfly, all runs, after unloading
};

// It starts processes of its own, so this process must have no DPDK and no threads. It removes all
// files that it made. InvalidArgument names an option and its range; Unavailable says what the
// machine lacks.
absl::StatusOr<PortBenchResult> RunPortBench(const PortBenchOptions& options);

}  // namespace bfly::dataplane
