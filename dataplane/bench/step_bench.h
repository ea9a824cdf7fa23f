// SPDX-License-Identifier: Apache-2.0
// How fast the step clock moves packets on a multibutterfly, compared in the same run with the
// loops that one writes first. `bfly bench steps` prints it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct StepBenchOptions {
  NetworkSpec network{
      .kind = NetworkKind::kMultibutterfly, .rows = 1024, .seed = 1, .multiplicity = 2};
  int workers = 1;        // 1..256; waves and greedy routing use at most two for one run
  uint32_t waves = 1;     // L of the waves, 1..rows
  uint32_t packets = 16;  // packets of each input under greedy routing, 1..1024
  int runs = 5;           // 1..100
  uint64_t seed = 1;      // the seed of the permutations and destinations
  double moves = 20e6;    // packets times links of a run, about, 1..1e9; the plain loop does a 5th
};

// One entry for each run, in turn: packets moved over a link in a second of the wall clock, and in
// a second of the CPU time of all threads.
struct StepBenchSpeeds {
  std::vector<double> per_second;
  std::vector<double> per_cpu_second;
};

struct StepBenchProgram {
  StepBenchSpeeds clock;
  StepBenchSpeeds plain;
  uint64_t moves = 0;  // moves of all runs of the step clock
  uint64_t steps = 0;
};

struct StepBenchResult {
  StepBenchProgram waves;   // waves of random permutations
  StepBenchProgram greedy;  // packets for random outputs, queues without limit
};

// InvalidArgument names the option and its range. Internal if the plain loop moves other packets,
// or takes another number of steps, than the step clock.
absl::StatusOr<StepBenchResult> RunStepBench(const StepBenchOptions& options);

}  // namespace bfly::dataplane
