// SPDX-License-Identifier: Apache-2.0
// How many steps a second the workers of a running fabric take, beside what it costs the same
// workers to wait for each other. `bfly bench steps --in-band` prints it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "topologies/network.h"

namespace bfly::dataplane {

struct StepWorkerBenchOptions {
  NetworkSpec network{
      .kind = NetworkKind::kMultibutterfly, .rows = 1024, .seed = 1, .multiplicity = 2};
  uint32_t waves = 1;  // L of the waves, 1..rows
  int runs = 20;       // random permutations, 1..1000
  uint64_t seed = 1;   // the seed of the first permutation
  // 1..usable CPUs; 0: two, or one where a second CPU may not be used.
  int most_workers = 0;
};

// The result for one number of workers. One entry for each run.
struct StepWorkerBenchRuns {
  int workers = 0;
  bool by_rows = false;  // true: each worker has a range of the rows; false: a part of the stages
  std::vector<double> steps_per_second = {};
  // Barriers per second of the same workers without work.
  std::vector<double> barriers_per_second = {};
  uint64_t steps = 0;     // steps of all runs
  uint64_t barriers = 0;  // barriers of all steps
};

// One worker, then up to `most_workers` by stages and by rows. Every permutation is routed in
// waves, and every report is compared with that of RunRoute. InvalidArgument names the option and
// its range. Internal: a report differs. EAL must be up.
absl::StatusOr<std::vector<StepWorkerBenchRuns>> RunStepWorkerBench(
    const StepWorkerBenchOptions& options);

}  // namespace bfly::dataplane
