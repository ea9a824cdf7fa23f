// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bfly::control {
namespace {

using testing::ElementsAre;

TEST(Ranges, ReadsNumbersAndRanges) {
  const auto ranges = ParseRanges("0-3, 8 ,5-5");
  ASSERT_TRUE(ranges.ok()) << ranges.status();
  EXPECT_THAT(*ranges, ElementsAre(Range{0, 3}, Range{8, 8}, Range{5, 5}));
  const auto rows = ExpandRanges("8,0-2", 8, "row");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(*rows, ElementsAre(8, 0, 1, 2));
  EXPECT_EQ(FormatRanges({0, 1, 2, 3, 8}), "0-3,8");
  EXPECT_EQ(FormatRanges({}), "");
}

TEST(Ranges, RefusesEverythingElse) {
  for (const char* junk : {"", ",", "1,", "-", "1-", "-1", "+1", "1--2", "1-2-3", "3-1", "0x1",
                           "1.5", "a", "4294967296", "1 2"}) {
    EXPECT_FALSE(ParseRanges(junk).ok()) << junk;
  }
}

}  // namespace
}  // namespace bfly::control
