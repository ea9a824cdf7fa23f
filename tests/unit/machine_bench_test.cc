// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/machine_bench.h"

#include <gtest/gtest.h>

#include <set>

namespace bfly::dataplane {
namespace {

TEST(RandomCycle, GoesThroughAllElementsAndBackToTheFirst) {
  for (const uint32_t count : {1u, 2u, 3u, 1000u}) {
    const std::vector<uint32_t> next = RandomCycle(count, 7);
    ASSERT_EQ(next.size(), count);
    std::set<uint32_t> seen;
    uint32_t at = 0;
    for (uint32_t step = 0; step < count; ++step) {
      seen.insert(at);
      at = next[at];
    }
    EXPECT_EQ(at, 0u) << count;
    EXPECT_EQ(seen.size(), count);
  }
  EXPECT_NE(RandomCycle(1000, 7), RandomCycle(1000, 8));
}

TEST(MachineBench, RefusesWhatIsOutsideOfTheRanges) {
  EXPECT_EQ(RunMachineBench({.seconds = 0.001}).status().message(),
            "seconds: 0.001 is outside 0.01..60");
  EXPECT_EQ(RunMachineBench({.runs = 0}).status().message(), "runs: 0 is outside 1..100");
}

}  // namespace
}  // namespace bfly::dataplane
