// SPDX-License-Identifier: Apache-2.0
#include "topologies/link_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace bfly {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LinkChoice, RangesAreMergedWhereTheyMeet) {
  EXPECT_THAT(MergeRanges({}), ElementsAre());
  EXPECT_THAT(MergeRanges({{7, 9}, {0, 0}, {1, 2}, {8, 8}, {11, 12}}),
              ElementsAre(NumberRange{0, 2}, NumberRange{7, 9}, NumberRange{11, 12}));
  EXPECT_THAT(MergeRanges({{UINT32_MAX, UINT32_MAX}, {0, UINT32_MAX}}),
              ElementsAre(NumberRange{0, UINT32_MAX}));
}

TEST(LinkChoice, WrongRangesAreRefusedByName) {
  EXPECT_TRUE(CheckRanges("rows", {{0, 3}, {4, 15}}, 16).ok());
  EXPECT_THAT(CheckRanges("rows", {{0, 3}, {7, 4}}, 16).message(),
              HasSubstr("rows[1]: 7-4 ends before it begins"));
  EXPECT_THAT(CheckRanges("rows", {{3, 16}}, 16).message(),
              HasSubstr("rows[0]: 3-16 is outside 0..15"));
  EXPECT_THAT(CheckRanges("rows", {{0, 3}, {3, 4}}, 16).message(),
              HasSubstr("rows[1]: 3-4 overlaps the one before"));
}

// Numbers below `limit`, each with probability 1/2, as ranges; sometimes none, which means all.
std::vector<NumberRange> Some(uint32_t limit, std::mt19937& random, std::set<uint32_t>& numbers) {
  std::vector<NumberRange> ranges;
  for (uint32_t number = 0; number < limit; ++number) {
    if (random() % 2 == 0) ranges.push_back({number, number});
  }
  if (random() % 4 == 0) ranges.clear();
  for (const NumberRange& range : ranges) numbers.insert(range.first);
  for (uint32_t number = 0; ranges.empty() && number < limit; ++number) numbers.insert(number);
  return MergeRanges(std::move(ranges));
}

TEST(LinkChoice, HasTheLinksOfItsStagesRowsAndPorts) {
  std::mt19937 random(24);
  const Network network = *Network::Make({.kind = NetworkKind::kButterfly, .rows = 32});
  for (int trial = 0; trial < 200; ++trial) {
    std::set<uint32_t> stages, rows, ports;
    LinkRanges ranges;
    ranges.stages = Some(static_cast<uint32_t>(network.stages()), random, stages);
    ranges.rows = Some(network.rows(), random, rows);
    ranges.ports = Some(static_cast<uint32_t>(network.ports()), random, ports);
    const LinkChoice choice(network, ranges);

    const uint64_t from = random() % network.link_count();
    std::vector<uint64_t> expected, found;
    uint64_t all = 0;
    for (uint64_t index = 0; index < network.link_count(); ++index) {
      const LinkId link = network.link_at(index);
      const bool chosen = stages.contains(static_cast<uint32_t>(link.stage)) &&
                          rows.contains(link.row) &&
                          ports.contains(static_cast<uint32_t>(link.port));
      EXPECT_EQ(choice.Has(link), chosen);
      all += chosen ? 1 : 0;
      if (chosen && index >= from) expected.push_back(index);
    }
    EXPECT_EQ(choice.size(), all);
    choice.ForEachFrom(from, [&](uint64_t index) {
      found.push_back(index);
      return true;
    });
    EXPECT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace bfly
