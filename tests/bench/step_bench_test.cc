// SPDX-License-Identifier: Apache-2.0
// Floors of the step clock's speed, by CPU time and far below what it does, so that they hold on a
// machine that is shared.
#include "dataplane/bench/step_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace bfly::dataplane {
namespace {

double Best(const std::vector<double>& runs) { return *std::max_element(runs.begin(), runs.end()); }

TEST(StepBench, MovesTwiceAsManyPacketsAsPlainLoops) {
  StepBenchOptions options;
  options.runs = 3;
  options.moves = 5e6;
  const absl::StatusOr<StepBenchResult> result = RunStepBench(options);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const StepBenchProgram& program : {result->waves, result->greedy}) {
    std::printf("%.0f million moves a CPU second; a plain loop: %.0f million\n",
                Best(program.clock.per_cpu_second) / 1e6, Best(program.plain.per_cpu_second) / 1e6);
    EXPECT_GE(Best(program.clock.per_cpu_second), 20e6);
    EXPECT_GT(Best(program.clock.per_cpu_second), 1.5 * Best(program.plain.per_cpu_second));
  }
}

TEST(StepBench, OptionsOutOfRangeAreRefused) {
  EXPECT_EQ(RunStepBench({.workers = 0}).status().message(), "workers: 0 is outside 1..256");
  EXPECT_EQ(RunStepBench({.waves = 1025}).status().message(),
            "waves: 1025 is outside 1..1024, the rows");
  EXPECT_EQ(RunStepBench({.packets = 0}).status().message(), "packets: 0 is outside 1..1024");
  EXPECT_EQ(RunStepBench({.runs = 0}).status().message(), "runs: 0 is outside 1..100");
  EXPECT_EQ(RunStepBench({.moves = 0}).status().message(), "moves: 0 is outside 1..1e9");
  StepBenchOptions options;
  options.network.rows = 100;
  EXPECT_EQ(RunStepBench(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace bfly::dataplane
