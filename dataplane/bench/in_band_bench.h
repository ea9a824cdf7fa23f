// SPDX-License-Identifier: Apache-2.0
// What setting circuits up in band takes on this machine, beside the bare walk of the same packets
// in the same run. `bfly bench in-band` prints it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"

namespace bfly::dataplane {

struct InBandBenchOptions {
  uint32_t rows = 1024;  // of the two-fold butterfly, a power of two
  int workers = 1;       // 1..usable CPUs, stages shared out evenly
  uint32_t c = 4;        // of collision, 1..254
  int runs = 25;         // permutations, 1..10000
  int set_ups = 2000;    // single ones, 1..1000000
  // Data packets a second that sources at all rows send meanwhile, together; 0: none.
  double data = 0;
  uint64_t seed = 1;  // of the network; permutation i has seed + i
};

struct Quantiles {
  double p50 = 0, p99 = 0, highest = 0;
};

// All times in seconds.
struct InBandBenchResult {
  InBandBenchOptions options;
  // The first round of collision, when all 2 n paths are active.
  RunStatistics round;
  RunStatistics round_forward, round_backward, round_decide;
  // The same packets there and back, doing nothing.
  RunStatistics walk;
  RunStatistics walk_forward, walk_backward;
  double ratio = 0;  // of the medians of round and walk
  // The whole protocol, and installing the paths it chose.
  RunStatistics collision;
  RunStatistics install;
  RunStatistics rounds;  // how many
  // Minimum on top of half the inputs' circuits: the first probe leaves the input to the
  // acknowledgement is back, and what the control thread that asked for it saw.
  Quantiles set_up;
  Quantiles set_up_seen;
  Quantiles release_seen;
  // A whole permutation by minimum, one request after the other.
  RunStatistics minimum;
  Conservation conservation;  // of the data, after unloading
};

// EAL must be up. InvalidArgument names the option and its range.
absl::StatusOr<InBandBenchResult> RunInBandBench(const InBandBenchOptions& options);

}  // namespace bfly::dataplane
