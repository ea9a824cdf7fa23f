// SPDX-License-Identifier: Apache-2.0
// Where a closed bench tells a ratio: each bound from both sides.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dataplane/bench/closed_bench.h"

namespace bfly::dataplane {
namespace {

ClosedBenchResult OnCpus(std::vector<int> cpus) {
  ClosedBenchResult result;
  result.cpus = std::move(cpus);
  result.testpmd = {{.mode = "io"}, {.mode = "macswap"}};
  return result;
}

std::string WhyNot(const ClosedBenchResult& result,
                   ClosedPlacement placement = ClosedPlacement::kOne) {
  return std::string(CheckPace({.placement = placement}, result).message());
}

TEST(CheckPace, EveryCpuMustHaveBeenHadForFourFifthsOfTheTime) {
  ClosedBenchResult one = OnCpus({1});
  EXPECT_EQ(WhyNot(one), "");
  one.on_cpu = 0.81;
  EXPECT_EQ(WhyNot(one), "");
  one.on_cpu = 0.79;
  EXPECT_NE(WhyNot(one).find("the CPUs of bfly"), std::string::npos);
  // Of two CPUs one may have been had for 0.82 of the time if the other was had for all of it.
  ClosedBenchResult two = OnCpus({0, 1});
  two.on_cpu = 0.91;
  EXPECT_EQ(WhyNot(two, ClosedPlacement::kStages), "");
  two.on_cpu = 0.89;
  EXPECT_NE(WhyNot(two, ClosedPlacement::kStages), "");
  two.on_cpu = 0.898;
  EXPECT_NE(WhyNot(two, ClosedPlacement::kStages).find("for 89.8 % of the time, and 90 % are"),
            std::string::npos);
}

TEST(CheckPace, WhatBflyIsComparedWithMustHaveHadItsCpusToo) {
  ClosedBenchResult result = OnCpus({1});
  result.testpmd[1].on_cpu = 0.79;
  EXPECT_NE(WhyNot(result).find("the CPUs of dpdk-testpmd macswap"), std::string::npos);
  result = OnCpus({1});
  result.open_vswitch_on_cpu = 0.79;
  EXPECT_NE(WhyNot(result).find("the CPUs of Open vSwitch"), std::string::npos);
}

TEST(CheckPace, AWorkerAloneMustHaveFoundFrames) {
  ClosedBenchResult result = OnCpus({1});
  result.one_core_busy = 0.96;
  EXPECT_EQ(WhyNot(result), "");
  result.one_core_busy = 0.94;
  EXPECT_NE(WhyNot(result).find("waited for frames"), std::string::npos);
  // Two workers may wait for each other.
  result = OnCpus({0, 1});
  result.busy = 0.5;
  EXPECT_EQ(WhyNot(result, ClosedPlacement::kRows), "");
}

TEST(CheckPace, FewFramesMayBeDropped) {
  ClosedBenchResult result = OnCpus({1});
  result.dropped_part = 0.04;
  EXPECT_EQ(WhyNot(result), "");
  result.dropped_part = 0.06;
  EXPECT_NE(WhyNot(result).find("6.0 % of the frames were dropped"), std::string::npos);
}

}  // namespace
}  // namespace bfly::dataplane
