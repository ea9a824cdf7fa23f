// SPDX-License-Identifier: Apache-2.0
// How exact links are on the wall clock: the rate that they carry and the delay that they add, as
// the far end sees them. `bfly bench links` prints it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/telemetry/lateness.h"

namespace bfly::dataplane {

struct LinkBenchOptions {
  double seconds = 0.3;  // measured time of one run, 0.05..10
  int runs = 5;          // 1..100
};

// 1000-byte packets along one path, 5 % more than its links can carry.
struct LinkRateResult {
  int stages = 0;
  uint64_t bits_per_second = 0;
  // Bits a second that arrived, by the times of the first and the last packet.
  RunStatistics measured;
  RunStatistics error_percent;  // absolute error in percent of the rate
};

// 20,000 packets a second over links with a delay and without a rate.
struct LinkDelayResult {
  int stages = 0;
  uint64_t delay_ns = 0;  // delay of each link
  uint64_t packets = 0;   // packets of all runs
  // The time from birth to the sink, minus the delays of the links.
  RunStatistics mean_us, p99_us, max_us;
};

struct LinkBenchResult {
  std::vector<LinkRateResult> rates;
  std::vector<LinkDelayResult> delays;
  Lateness lateness;  // of the worker over all runs, in ns
  Conservation conservation;
};

// EAL must be up. It runs on the last usable CPU. InvalidArgument names the option and its range.
absl::StatusOr<LinkBenchResult> RunLinkBench(const LinkBenchOptions& options);

}  // namespace bfly::dataplane
