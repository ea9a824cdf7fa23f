// SPDX-License-Identifier: Apache-2.0
// How many packets a second one worker carries over links that take time, without ports: packets
// come from memory and end in a sink. `bfly bench links --speed` prints it.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/bench/run_statistics.h"
#include "dataplane/core/snapshot.h"
#include "dataplane/links/link_shape.h"

namespace bfly::dataplane {

struct LinkSpeedOptions {
  int stages = 6;        // stages of the butterfly, 1..16
  double seconds = 0.3;  // measured time of one run, 0.05..10
  int runs = 5;          // 1..100
};

// 60-byte packets from the lower half of the rows to the upper half, as from one port to another.
struct LinkSpeedResult {
  LinkShape shape;                   // the settings of all links
  RunStatistics packets_per_second;  // while there are always more packets
  RunStatistics late_mean_us, late_p99_us;
  // The lateness of the worker while packets come evenly at 0.8 of packets_per_second of the same
  // run.
  RunStatistics calm_mean_us, calm_p99_us;
  // The same of a loop that reads the clock and takes packets at packets_per_second at most: late
  // only because the machine took the CPU away, and while it makes up for that.
  RunStatistics clock_mean_us, clock_p99_us;
};

struct LinkSpeedResults {
  std::vector<LinkSpeedResult> shapes;  // the first one takes no time
  Conservation conservation;
};

// EAL must be up. It runs on the last usable CPU. InvalidArgument names the option and its range.
absl::StatusOr<LinkSpeedResults> RunLinkSpeedBench(const LinkSpeedOptions& options);

}  // namespace bfly::dataplane
