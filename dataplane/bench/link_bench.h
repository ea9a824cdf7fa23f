// SPDX-License-Identifier: Apache-2.0
// How exact links are on the wall clock: the rate they carry and the delay they add, as the far end
// sees it. `bfly bench links` prints it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/telemetry/lateness.h"

namespace bfly::dataplane {

struct LinkBenchOptions {
  double seconds = 0.3;  // of one run, 0.05..10
  int runs = 5;          // 1..100
};

// 1000-byte packets along one path, 5 % more than its links carry.
struct LinkRateResult {
  int stages = 0;
  uint64_t bits_per_second = 0;
  RunStatistics measured;       // bits a second that arrived, by the moments the first and last did
  RunStatistics error_percent;  // of the rate, without sign
};

// 20,000 packets a second over links that delay and have no rate.
struct LinkDelayResult {
  int stages = 0;
  uint64_t delay_ns = 0;  // of each link
  uint64_t packets = 0;   // of all runs
  // What packets took more than the delays of their links: when the sink saw them, minus birth,
  // minus the delays.
  RunStatistics mean_us, p99_us, max_us;
};

struct LinkBenchResult {
  std::vector<LinkRateResult> rates;
  std::vector<LinkDelayResult> delays;
  Lateness lateness;  // of the worker over all runs, in ns
  Conservation conservation;
};

// EAL must be up. On the last usable CPU. InvalidArgument names the option and its range.
absl::StatusOr<LinkBenchResult> RunLinkBench(const LinkBenchOptions& options);

}  // namespace bfly::dataplane
