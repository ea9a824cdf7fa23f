// SPDX-License-Identifier: Apache-2.0
// How fast frames go from port to port through the stages, beside dpdk-testpmd forwarding between
// the same pair of memif ports in the same run. `bfly bench ports` prints it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"

namespace bfly::dataplane {

struct PortBenchOptions {
  int stages = 6;        // of a butterfly of 2^stages rows, 1..20
  int frame_bytes = 64;  // without FCS, 60..1514
  double seconds = 1;    // measured time of one run, 0.1..60
  int runs = 5;          // of each of the two, in turn; 1..100
  std::string testpmd = "dpdk-testpmd";
};

struct PortBenchResult {
  PortBenchOptions options;
  int load_cpu = 0;    // generator and sink
  int device_cpu = 0;  // testpmd, or bfly
  RunStatistics bfly_pps;
  RunStatistics testpmd_pps;
  double ratio = 0;  // of the medians
  // Frames a second of CPU time the device's core really gave it: what still says something on a
  // machine that is busy with other work.
  RunStatistics bfly_per_cpu_second;
  RunStatistics testpmd_per_cpu_second;
  double cpu_ratio = 0;
  // Part of the bursts offered that the device's full ring cut short. Near 0 the generator is what
  // is measured.
  double bfly_saturation = 0;     // lowest of the runs
  double testpmd_saturation = 0;  // lowest of the runs
  Conservation conservation;      // of bfly, all runs, after unloading
};

// Starts processes of its own: DPDK must not be up in this one, nor threads running. Removes all it
// made. InvalidArgument names an option and its range; Unavailable says what of the machine is
// missing.
absl::StatusOr<PortBenchResult> RunPortBench(const PortBenchOptions& options);

}  // namespace bfly::dataplane
