// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/topology_file/yaml_number.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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

TEST(Ranges, RefusesARangeOfMoreThan64CharactersAndTakesAnyNumberOfRanges) {
  EXPECT_TRUE(ParseRanges("0," + std::string(63, ' ') + "8").ok());
  for (const std::string& filling : {std::string(64, ' '), std::string(64, '0')}) {
    const absl::Status status = ParseRanges("0," + filling + "8").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("is longer than the 64 characters"));
  }
  std::string many = "0";
  for (int number = 2; number < 2000; number += 2) many += "," + std::to_string(number);
  EXPECT_EQ(ParseRanges(many)->size(), 1000u);
}

TEST(WholeNumberOf, ReadsWhatYaml12Writes) {
  for (const char* sixteen : {"16", "+16", "016", "0x10", "0o20", "16.", "16.0", "1.6e1", "160E-1"})
    EXPECT_EQ(WholeNumberOf(sixteen), "16") << sixteen;
  EXPECT_EQ(WholeNumberOf("-0"), "0");
  EXPECT_EQ(WholeNumberOf("18446744073709551615"), "18446744073709551615");
  for (const char* none :
       {"", "-1", "1_6", "0X10", "-0x10", "0x", "0o8", "0b1", "1.5", "1e", ".", "1.2.3", "1:30",
        " 16", "18446744073709551616", "0x10000000000000000", "0o2000000000000000000000", "1e20"})
    EXPECT_EQ(WholeNumberOf(none), std::nullopt) << none;
}

}  // namespace
}  // namespace bfly::control
