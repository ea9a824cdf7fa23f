// SPDX-License-Identifier: Apache-2.0
#include "dataplane/core/percentile.h"

#include <gtest/gtest.h>

#include <numeric>

namespace bfly::dataplane {
namespace {

// The values 1 to `count`: the value v is not exceeded by v of them.
std::vector<double> UpTo(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Percentile, IsTheLeastValueThatSoManyDoNotExceed) {
  EXPECT_EQ(PercentileOf(UpTo(100), 50), 50);
  EXPECT_EQ(PercentileOf(UpTo(100), 99), 99);
  EXPECT_EQ(PercentileOf(UpTo(100), 100), 100);
  // Of 3 values, 1 is a third of them and 2 are two thirds. 99 % of 101 are 99.99.
  EXPECT_EQ(PercentileOf(UpTo(3), 50), 2);
  EXPECT_EQ(PercentileOf(UpTo(2), 50), 1);
  EXPECT_EQ(PercentileOf(UpTo(101), 99), 100);
  EXPECT_EQ(PercentileOf(UpTo(1), 50), 1);
  EXPECT_EQ(PercentileOf(UpTo(1), 1), 1);
  EXPECT_EQ(PercentileOf({}, 50), 0);
}

}  // namespace
}  // namespace bfly::dataplane
