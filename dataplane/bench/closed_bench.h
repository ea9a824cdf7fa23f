// SPDX-License-Identifier: Apache-2.0
// Measures what the workers themselves can do. Frames come from a capture that never ends and go to
// a sink that takes no time, or they go round in rings, so no device, load generator or other core
// sets the pace. In the same run it measures dpdk-testpmd between the same devices, and bfly on one
// core. `bfly bench ports --closed` prints it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/links/link_shape.h"
#include "topologies/network.h"

namespace bfly::dataplane {

enum class ClosedPlacement {
  kOne,     // all stages on one core
  kStages,  // the first third of the stages on the core that polls, the others on another
  kRows,    // the lower half of the rows on one core, the upper half on another
};

enum class ClosedDevices {
  kCapture,  // from a capture that never ends to net_null
  kRing,     // two net_ring ports, which receive what they send; the frames go round
};

struct ClosedBenchOptions {
  int stages = 6;        // log2(rows), 3..20
  int frame_bytes = 60;  // without FCS, 60..1514
  double seconds = 1;    // measured time of one run, 0.1..60
  int runs = 7;          // runs of each program, in turn; 1..100
  ClosedDevices devices = ClosedDevices::kCapture;
  ClosedPlacement placement = ClosedPlacement::kOne;  // with rings: on one core only
  // A butterfly, a dilated butterfly or a multibutterfly; multiplicity, rule and wiring count, rows
  // follow from the stages.
  NetworkSpec network{.kind = NetworkKind::kButterfly};
  LinkShape links = {};  // the settings of all links
  // Every row has a circuit, all frames follow circuits, and the same frames are measured without
  // circuits. A butterfly and captures only.
  bool circuits = false;
  std::string testpmd = "dpdk-testpmd";
  // The ovs-vswitchd with DPDK to compare with. Empty: the one that is installed, if any.
  std::string open_vswitch = "";
  double patience_seconds = 30;  // for the start of a program and for its answers, 0.1..600

  // A butterfly whose links take no time.
  bool is_plain() const {
    return network.kind == NetworkKind::kButterfly && !links.keeps_packets();
  }
};

// dpdk-testpmd in one of its modes, between the devices of bfly.
struct ForwarderRuns {
  std::string mode;
  RunStatistics pps = {};
  RunStatistics bfly_over_it = {};  // quotients of two runs of the same round
  double on_cpu = 1;                // as for bfly
};

struct ClosedBenchResult {
  std::vector<int> cpus;        // the CPUs of bfly
  int port_pairs = 1;           // two if rows are shared
  RunStatistics bfly_pps = {};  // frames delivered a second
  // Frames per second of bfly on one core, with the same ports and frames.
  RunStatistics one_core_pps = {};
  RunStatistics over_one_core = {};  // quotients of two consecutive runs
  // Unless the network is the plain butterfly: the plain one with as many stages and the same
  // placement, and quotients of two consecutive runs. The plain one's links take no time.
  RunStatistics plain_pps = {};
  RunStatistics over_plain = {};
  // With circuits: the same frames in the same fabric without circuits, and quotients of two
  // consecutive runs.
  RunStatistics no_circuits_pps = {};
  RunStatistics over_no_circuits = {};
  std::vector<ForwarderRuns> testpmd = {};  // io, mac, macswap
  // Open vSwitch with DPDK, which looks at the destination of every frame, on the same CPUs with
  // two null devices a pair. If it was left out, the version is empty and the reason says why.
  std::string open_vswitch_version = "";
  std::string no_open_vswitch = "";
  double open_vswitch_on_cpu = 1;                // as for bfly
  RunStatistics open_vswitch_pps = {};           // as it comes
  RunStatistics open_vswitch_uncached_pps = {};  // without its cache of exact headers
  RunStatistics over_open_vswitch = {};          // quotients of two consecutive runs, as it comes
  // The share of passes in which the least busy worker that polls a capture moved frames. A pass
  // that finds the other worker's ring full is short and moves nothing, so this is not a share of
  // time.
  double busy = 1;
  double one_core_busy = 1;  // the share for the runs on one core
  double dropped_part = 0;   // the part of the frames that came in, in the worst run
  // The share of the measured time for which the workers had their CPUs, in the worst run.
  double on_cpu = 1;
  // Where links take time: how late the latest worker was.
  RunStatistics late_mean_us = {};
  RunStatistics late_p99_us = {};
  Conservation conservation = {};  // the account of bfly over all runs, after unloading
};

// InvalidArgument names the option and its range. Unavailable, FailedPrecondition: the CPUs that
// this process may use are too few for the placement.
absl::Status CheckClosedBench(const ClosedBenchOptions& options);

// It starts processes of its own, so DPDK must not be up in this process.
// Returns the errors of CheckClosedBench. Unavailable: a program ended, or did not start or
// answer in time; the error says which program and what it printed last. Internal: a frame of a run
// with circuits found none. NotFound: `open_vswitch` names a program that is not one.
absl::StatusOr<ClosedBenchResult> RunClosedBench(const ClosedBenchOptions& options);

// OK if the workers set the pace, so that a ratio to another program means something.
// FAILED_PRECONDITION says what else did: other programs took a CPU, a worker that was alone had no
// frames in more than one pass of twenty, or more than one frame of twenty was dropped, as by links
// that are slower than the worker.
absl::Status CheckPace(const ClosedBenchOptions& options, const ClosedBenchResult& result);

}  // namespace bfly::dataplane
