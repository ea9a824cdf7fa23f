// SPDX-License-Identifier: Apache-2.0
// The floor of the stages' speed, by CPU time, so that it holds on a machine that is shared.
#include "dataplane/bench/fabric_bench.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "dataplane/bench/step_traffic.h"
#include "dataplane/runtime/eal.h"

namespace bfly::dataplane {
namespace {

TEST(FabricBench, AWorkerMakes50MillionHopsInASecondOfItsTimeAt1024Rows) {
  FabricBenchOptions options;
  options.seconds = 0.2;
  const absl::StatusOr<FabricBenchResult> result = RunFabricBench(options);
  ASSERT_TRUE(result.ok()) << result.status();
  std::printf(
      "%.0f million hops a CPU second, %.2f ns a hop; a plain loop over queues: %.0f million\n",
      result->hops_per_cpu_second.median / 1e6, result->ns_per_hop,
      result->baseline_hops_per_cpu_second.median / 1e6);
  EXPECT_GE(result->hops_per_cpu_second.median, 50e6);
  EXPECT_GT(result->cpu_ratio, 1);
  const Conservation& c = result->conservation;
  EXPECT_EQ(c.injected, c.delivered + c.dropped);
  EXPECT_EQ(c.in_flight, 0u);
}

// Every packet crosses a link in each stage, so as many hops a step are made as packets come in,
// times the stages, unless links far from the inputs were still empty. Hot links of the few steps
// that are replayed hold some packets back.
TEST(FabricBench, ThePlainLoopIsMeasuredWithAFullNetwork) {
  constexpr double kLoad = 0.5;
  const Network network = Network::Make({.kind = NetworkKind::kButterfly, .rows = 16384}).value();
  const StepTraffic traffic = DrawStepTraffic(network, kLoad, 1 << 16, 1);
  EXPECT_GE(MeasurePlainLoop(network, traffic, 0.01).hops_per_step,
            0.8 * kLoad * network.rows() * network.stages());
}

TEST(FabricBench, OptionsOutOfRangeAreRefused) {
  FabricBenchOptions options;
  options.load = 0;
  EXPECT_EQ(RunFabricBench(options).status().message(), "load: 0 is not above 0 and at most 1");
  options.load = 0.5;
  options.runs = 0;
  EXPECT_EQ(RunFabricBench(options).status().message(), "runs: 0 is outside 1..100");
  options.runs = 1;
  options.network.rows = 100;
  EXPECT_EQ(RunFabricBench(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace bfly::dataplane
