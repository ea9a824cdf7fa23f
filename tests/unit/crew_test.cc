// SPDX-License-Identifier: Apache-2.0
#include "topologies/crew.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace bfly {
namespace {

// Plain integers: a second worker at the same index would be seen as a wrong count, and as a race
// under ThreadSanitizer.
TEST(Crew, DoesEveryIndexOnceForAnyNumberOfWorkers) {
  for (const int workers : {1, 2, 3, 8}) {
    Crew crew(workers);
    EXPECT_EQ(crew.workers(), workers);
    for (const size_t count : {0, 1, 2, 7, 8, 1000}) {
      std::vector<int> done(count);
      for (int round = 1; round <= 20; ++round) {
        crew.ForEach(count, [&](int worker, size_t index) {
          ASSERT_LT(worker, workers);
          ++done[index];
        });
        EXPECT_EQ(done, std::vector<int>(count, round)) << workers << " workers";
      }
    }
  }
}

TEST(Crew, PartsFollowEachOtherAndTheLastMayBeShorter) {
  for (const int workers : {1, 3}) {
    Crew crew(workers);
    std::vector<std::pair<size_t, size_t>> parts(3);
    crew.ForEachPart(11, 4, [&](int, size_t first, size_t last) {
      parts[first / 4] = {first, last};
    });
    EXPECT_EQ(parts, (std::vector<std::pair<size_t, size_t>>{{0, 4}, {4, 8}, {8, 11}}));
    crew.ForEachPart(0, 4, [](int, size_t, size_t) { FAIL() << "there is nothing to do"; });
  }
}

}  // namespace
}  // namespace bfly
