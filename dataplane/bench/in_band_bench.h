// SPDX-License-Identifier: Apache-2.0
// How long setting circuits up in band takes on this machine, compared in the same run with the
// bare walk of the same messages. `bfly bench in-band` prints it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"

namespace bfly::dataplane {

struct InBandBenchOptions {
  uint32_t rows = 1024;  // rows of the two-fold butterfly, a power of two
  int workers = 1;       // 1..usable CPUs; the stages are shared out evenly
  uint32_t c = 4;        // the threshold of collision, 1..254
  int runs = 25;         // permutations, 1..10000
  int set_ups = 2000;    // single set-ups, 1..1000000
  // Data packets a second that sources at all rows together send during the runs; 0: no data.
  double data = 0;
  uint64_t seed = 1;  // seed of the network; permutation i has seed + i
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
  // The same messages there and back, while the nodes do nothing.
  RunStatistics walk;
  RunStatistics walk_forward, walk_backward;
  double ratio = 0;  // the quotient of the medians, round over walk
  // The whole protocol, and the installing of the paths that it chose.
  RunStatistics collision;
  RunStatistics install;
  RunStatistics rounds;  // how many rounds the protocol took
  // Minimum while half of the inputs have circuits: from the first probe leaving the input until
  // the acknowledgement is back, and the same as the control thread that asked sees it.
  Quantiles set_up;
  Quantiles set_up_seen;
  Quantiles release_seen;
  // A whole permutation by minimum, one request after the other.
  RunStatistics minimum;
  Conservation conservation;  // the account of the data, after unloading
};

// EAL must be up. InvalidArgument names the option and its range.
absl::StatusOr<InBandBenchResult> RunInBandBench(const InBandBenchOptions& options);

}  // namespace bfly::dataplane
