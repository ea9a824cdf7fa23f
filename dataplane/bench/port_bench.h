// SPDX-License-Identifier: Apache-2.0
// How fast frames go from port to port through the stages, compared in the same run with
// dpdk-testpmd between the same pair of ports, under a load that a core of its own sends. `bfly
// bench ports` prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"

namespace bfly::dataplane {

struct PortBenchOptions {
  std::string ports = "memif";    // the name of a PortKind
  std::vector<int> stages = {6};  // the stages of butterflies of 2^stages rows, 1..20 each; the
                                  // result has one row for each
  int frame_bytes = 64;           // without FCS, 60..1514
  double seconds = 1;             // measured time of one run, 0.1..60
  int runs = 5;                   // runs of each row, in turn; 1..100
  std::string testpmd = "dpdk-testpmd";
  double patience_seconds = 30;  // for the start of a program and for its answers, 0.1..600
};

// What one device under test did in all of its runs.
struct PortBenchRow {
  std::string forward;  // testpmd's forward mode; empty: bfly
  int stages = 0;       // stages of bfly
  RunStatistics pps;
  // Frames a second of the CPU time that the device's process really got. It is still comparable on
  // a machine that is busy with other work.
  RunStatistics per_cpu_second;
  // The shares of the time in which a burst of frames waited for the device, and in which there was
  // room for a burst that it sends. Where both are near 1, the device was the bottleneck.
  RunStatistics fed;
  RunStatistics drained;
  // The share of the time in which the device's process had its CPU.
  RunStatistics on_cpu;
  // The part of its CPU time that the device's process spent in the kernel: in system calls, and in
  // the interrupts that they led to.
  RunStatistics in_kernel;
  // Of the frames that the device took, the part that did not come back; the highest. Nothing where
  // the load cannot see how many the device took.
  std::optional<double> lost;
  RunStatistics over_io;      // pps over that of the testpmd io run of the same turn
  RunStatistics cpu_over_io;  // per_cpu_second over that of the same run
};

struct PortBenchResult {
  PortBenchOptions options;
  int load_cpu = 0;            // generator and sink
  int device_cpu = 0;          // testpmd, or bfly
  RunStatistics hand_over_ns;  // until one of these CPUs sees what the other wrote
  RunStatistics alone_pps;     // frames per second of the load, with a device that copies nothing
  std::vector<PortBenchRow> rows;  // testpmd io, mac and macswap; then bfly, as in options.stages
  Conservation conservation;       // the account of bfly over all runs, after unloading
};

// A device was the bottleneck if frames waited for it, and had room behind it, for nearly all of
// the time in the median run, if other programs did not take its CPU, and if the load alone moves
// clearly more frames a second. FailedPrecondition says why the load or another program, and not
// the device of this row, was the bottleneck.
absl::Status CheckBottleneck(const PortBenchRow& row, double alone_pps);

// It starts processes of its own, so this process must have no DPDK and no threads. It removes all
// files that it made. InvalidArgument names an option and its range; Unavailable says what the
// machine lacks.
absl::StatusOr<PortBenchResult> RunPortBench(const PortBenchOptions& options);

}  // namespace bfly::dataplane
