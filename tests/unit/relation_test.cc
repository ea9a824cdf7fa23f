// SPDX-License-Identifier: Apache-2.0
#include "topologies/relation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bfly {
namespace {

using ::testing::HasSubstr;

TEST(Relation, OfHRandomPermutationsSendsAndReceivesHMessagesAtEveryRow) {
  const Relation relation = *RelationByName("random", 64, 5, 7);
  ASSERT_EQ(relation.destinations.size(), 64u * 5);
  std::vector<int> received(64, 0);
  for (const Row to : relation.destinations) ++received.at(to);
  for (Row row = 0; row < 64; ++row) {
    EXPECT_EQ(relation.first[row + 1] - relation.first[row], 5u);
    EXPECT_EQ(received[row], 5);
  }
  EXPECT_TRUE(CheckRelation(relation, 64, 5).ok());
  EXPECT_EQ(DegreeOf(relation), 5u);
  // The copies are drawn one by one, and other seeds draw others.
  EXPECT_NE(relation.destinations[0 * 5 + 0] + relation.destinations[1 * 5 + 0] +
                relation.destinations[2 * 5 + 0],
            relation.destinations[0 * 5 + 1] + relation.destinations[1 * 5 + 1] +
                relation.destinations[2 * 5 + 1]);
  EXPECT_NE(relation.destinations, RelationByName("random", 64, 5, 8)->destinations);
  EXPECT_EQ(relation.destinations, RelationByName("random", 64, 5, 7)->destinations);
}

TEST(Relation, OfANamedPermutationSendsAllMessagesOfARowToOneRow) {
  const Relation relation = *RelationByName("bitrev", 8, 3, 0);
  for (uint32_t copy = 0; copy < 3; ++copy) {
    EXPECT_EQ(relation.destinations[1 * 3 + copy], 4u);  // 001 -> 100
    EXPECT_EQ(relation.destinations[6 * 3 + copy], 3u);  // 110 -> 011
  }
}

TEST(Relation, WithAStrideUsesOnlyEveryStrideRow) {
  const Relation relation = *RelationByName("bitrev", 32, 2, 0, 4);
  ASSERT_EQ(relation.destinations.size(), 16u);
  for (Row row = 0; row < 32; ++row) {
    EXPECT_EQ(relation.first[row + 1] - relation.first[row], row % 4 == 0 ? 2u : 0u);
  }
  EXPECT_EQ(relation.destinations[relation.first[4]], 16u);  // 001 -> 100, times 4
}

TEST(Relation, RefusesWhatIsNone) {
  Relation relation{{0, 2, 3, 3, 4}, {1, 1, 1, 3}};
  EXPECT_TRUE(CheckRelation(relation, 4, 3).ok());
  EXPECT_EQ(DegreeOf(relation), 3u);
  EXPECT_THAT(CheckRelation(relation, 4, 2).message(),
              HasSubstr("row 1 receives 3 messages, more than h = 2"));
  EXPECT_THAT(CheckRelation(relation, 4, 1).message(),
              HasSubstr("row 0 sends 2 messages, more than h = 1"));
  EXPECT_THAT(CheckRelation(relation, 8, 3).message(), HasSubstr("has 4 inputs"));
  relation.destinations[3] = 4;
  EXPECT_THAT(CheckRelation(relation, 4, 3).message(),
              HasSubstr("row 3 sends a message to row 4; rows are 0..3"));
  relation.first[2] = 1;
  EXPECT_THAT(CheckRelation(relation, 4, 3).message(), HasSubstr("ascend"));
  EXPECT_THAT(RelationByName("random", 24, 1, 0).status().message(), HasSubstr("rows: 24"));
  EXPECT_THAT(RelationByName("random", 32, 0, 0).status().message(), HasSubstr("h: 0"));
  EXPECT_THAT(RelationByName("random", 1 << 20, 257, 0).status().message(),
              HasSubstr("h: 257 is not in 1..256"));
  EXPECT_THAT(RelationByName("random", 32, 1, 0, 3).status().message(), HasSubstr("stride: 3"));
  EXPECT_THAT(RelationByName("sideways", 32, 1, 0).status().message(), HasSubstr("sideways"));
}

}  // namespace
}  // namespace bfly
