// SPDX-License-Identifier: Apache-2.0
// Floors of the virtual clock's speed, by CPU time and far below what it does, so that they hold on
// a machine that is shared.
#include "dataplane/bench/virtual_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace bfly::dataplane {
namespace {

VirtualBenchResult RunThree(uint32_t rows, double load, int workers) {
  VirtualBenchOptions options;
  options.network.rows = rows;
  options.load = load;
  options.workers = workers;
  options.runs = 3;
  const absl::StatusOr<VirtualBenchResult> result = RunVirtualBench(options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

double Best(const std::vector<double>& runs) { return *std::max_element(runs.begin(), runs.end()); }

TEST(VirtualBench, AWorkerMakes40MillionHopsInASecondOfItsTimeAt1024Rows) {
  const VirtualBenchResult busy = RunThree(1024, 0.9, 1);
  std::printf("%.0f million hops a CPU second; a plain loop over queues: %.0f million\n",
              Best(busy.hops_per_cpu_second) / 1e6, Best(busy.baseline_hops_per_cpu_second) / 1e6);
  EXPECT_GE(Best(busy.hops_per_cpu_second), 40e6);
  EXPECT_GT(Best(busy.hops_per_cpu_second), 2 * Best(busy.baseline_hops_per_cpu_second));
  EXPECT_LE(busy.bytes_per_link, 64);
}

TEST(VirtualBench, IdleLinksCostNothing) {
  // At a load of 0.01 a hop may cost twice what it costs at 0.9; four times with what noise adds.
  const VirtualBenchResult busy = RunThree(1024, 0.9, 1), idle = RunThree(1024, 0.01, 1);
  EXPECT_GE(Best(idle.hops_per_cpu_second), Best(busy.hops_per_cpu_second) / 4);
}

// Nearly all links of the loop are idle and it looks at each of them in every step.
TEST(VirtualBench, ThePlainLoopEndsAtATinyLoad) {
  VirtualBenchOptions options;
  options.load = 1e-6;
  options.units = 1000;
  options.runs = 1;
  const absl::StatusOr<VirtualBenchResult> result = RunVirtualBench(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LT(result->baseline_hops_per_step[0], 1);
}

TEST(VirtualBench, MemoryOf65536Rows) {
  VirtualBenchOptions options;
  options.network.rows = 65536;
  options.runs = 1;
  const absl::StatusOr<VirtualBenchResult> result = RunVirtualBench(options);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_LE(result->bytes_per_link, 64);
  EXPECT_GE(result->hops_per_cpu_second[0], 15e6);
  // A link of the plain loop is busy in 0.9 of the steps, also those of the last stage.
  EXPECT_GE(result->baseline_hops_per_step[0], 0.8 * 0.9 * 65536 * 16 * 2);
}

// Half of the packets wait for the other half under priority; under FIFO all wait alike.
TEST(VirtualBench, TheDisciplineIsTheOneAskedFor) {
  VirtualBenchOptions options;
  options.network.rows = 64;
  options.units = 2000;
  options.runs = 1;
  std::vector<double> delays;
  for (const Discipline discipline : {Discipline::kFifo, Discipline::kProcessorSharing}) {
    options.discipline = discipline;
    const absl::StatusOr<VirtualBenchResult> result = RunVirtualBench(options);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_GT(result->hops_per_cpu_second[0], 0);
    EXPECT_LT(result->hops_per_cpu_second[0], 1e12);
    delays.push_back(result->mean_delay);
  }
  // Unit packets at load 0.9: M/D/1 takes 1 + 0.45 / 0.1 = 5.5, M/D/1 shared 10 units at the first
  // link; links behind it get smoother streams and are shorter, with FIFO more than with sharing.
  EXPECT_GT(delays[1], 1.4 * delays[0]);
}

TEST(VirtualBench, OptionsOutOfRangeAreRefused) {
  VirtualBenchOptions options;
  options.load = 1;
  EXPECT_EQ(RunVirtualBench(options).status().message(), "load: 1 is not above 0 and below 1");
  options.load = 0.5;
  options.runs = 0;
  EXPECT_EQ(RunVirtualBench(options).status().message(), "runs: 0 is outside 1..100");
  options.runs = 1;
  options.units = -1;
  EXPECT_EQ(RunVirtualBench(options).status().message(), "units: -1 is outside 0 (chosen) to 1e7");
  options.units = 0;
  options.workers = 0;
  EXPECT_NE(RunVirtualBench(options).status().message().find("workers: 0"), std::string::npos);
  options.workers = 1;
  options.network.rows = 100;
  EXPECT_EQ(RunVirtualBench(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace bfly::dataplane
