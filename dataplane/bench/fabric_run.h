// SPDX-License-Identifier: Apache-2.0
// One measured run of a fabric between devices that need no peer, in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/core/config.h"
#include "dataplane/core/snapshot.h"
#include "topologies/network.h"

namespace bfly::dataplane {

using RowPair = std::pair<Row, Row>;  // input and output

struct FabricRunOptions {
  FabricConfig config;
  std::vector<RowPair> circuits = {};  // installed after load, by their greedy paths
  // Frames that circulate, by the device whose ring they are put into after load.
  std::vector<std::pair<std::string, Frames>> circulating = {};
  int memory_mb = 384;
  double settle_seconds = 0.2;  // from there to the measured time
  double seconds = 1;           // measured; longer if no frame comes through
  double patience_seconds = 30;
};

struct FabricRun {
  double frames_per_second = 0;  // delivered
  // The share of passes in which the least busy worker that polls a port moved frames.
  double busy = 0;
  double dropped_part = 0;  // the part of the frames that came in, in the measured time
  // CPU time of the process over the measured time of all its workers, at most 1.
  double on_cpu = 0;
  double late_mean_us = 0, late_p99_us = 0;  // of the worker that was latest, since it was loaded
  // Frames of the measured time that were dropped because they had no circuit.
  uint64_t without_circuit = 0;
  Conservation conservation;  // the account of the whole run, after unloading
};

// It starts a process, so DPDK must not be up in this one. What the process prints goes to the file
// `log`. Unavailable: it did not measure in time, or no frame came through.
absl::StatusOr<FabricRun> RunFabric(const FabricRunOptions& options, const std::string& log);

}  // namespace bfly::dataplane
