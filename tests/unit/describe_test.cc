// SPDX-License-Identifier: Apache-2.0
#include "topologies/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bfly {
namespace {

using ::testing::HasSubstr;

Network Make(NetworkKind kind, uint32_t rows, int passes = 1) {
  return Network::Make({.kind = kind, .rows = rows, .seed = 42, .passes = passes}).value();
}

TEST(Describe, GivesTheFactsOfBB16) {
  const NetworkFacts facts = Describe(Make(NetworkKind::kTwoFoldButterfly, 16));
  EXPECT_EQ(facts.kind, "two_fold_butterfly");
  EXPECT_EQ(facts.rows, 16u);
  EXPECT_EQ(facts.levels, 9);
  EXPECT_EQ(facts.stages, 8);
  EXPECT_EQ(facts.link_count, 256u);
  EXPECT_EQ(facts.seed, 42u);
  EXPECT_EQ(facts.passes, 1);
  EXPECT_EQ(facts.dilation, 8);
  ASSERT_EQ(facts.tag.size(), 8u);
  for (int hop = 0; hop < 8; ++hop) {
    EXPECT_EQ(facts.tag[hop].hop, hop);
    EXPECT_EQ(facts.tag[hop].stage, hop);
    EXPECT_EQ(facts.tag[hop].position, hop % 4 + 1);
  }
  EXPECT_EQ(facts.example.input, 1u);
  EXPECT_EQ(facts.example.output, 14u);
  EXPECT_EQ(facts.example.tag, "0001 1110");
  EXPECT_EQ(facts.example.rows, (std::vector<Row>{1, 1, 1, 1, 1, 9, 13, 15, 14}));
}

TEST(Describe, SaysThatAWrappedNetworkUsesItsStagesAgain) {
  const NetworkFacts facts = Describe(Make(NetworkKind::kWrappedButterfly, 4, 2));
  EXPECT_EQ(facts.levels, 2);
  EXPECT_EQ(facts.stages, 2);
  EXPECT_EQ(facts.dilation, 4);
  ASSERT_EQ(facts.tag.size(), 4u);
  EXPECT_EQ(facts.tag[3].stage, 1);
  EXPECT_EQ(facts.tag[3].position, 2);
}

// Stamoulis & Tsitsiklis, section 1.1: d 2^d arcs.
TEST(Describe, CountsTheArcsOfAHypercube) {
  const Network cube = Make(NetworkKind::kHypercube, 16);
  EXPECT_EQ(Describe(cube).link_count - FreeLinkCount(cube), 4u * 16);
  uint64_t arcs = 0;
  for (const LinkEnds& ends : AllLinks(cube)) arcs += ends.next_row != ends.link.row;
  EXPECT_EQ(arcs, 4u * 16);
  EXPECT_EQ(FreeLinkCount(Make(NetworkKind::kButterfly, 16)), 0u);
}

TEST(Describe, ListsEveryLinkOnce) {
  const std::vector<LinkEnds> links = AllLinks(Make(NetworkKind::kButterfly, 2));
  ASSERT_EQ(links.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(links[i].link, (LinkId{0, static_cast<Row>(i / 2), static_cast<int>(i % 2)}));
    EXPECT_EQ(links[i].next_row, i % 2);
  }
}

TEST(Describe, DrawsEveryLinkOfASmallNetwork) {
  const std::string dot = ToDot(Make(NetworkKind::kButterfly, 2), "a \"b\"").value();
  EXPECT_EQ(dot,
            "digraph \"a \\\"b\\\"\" {\n"
            "  rankdir=LR;\n"
            "  node [shape=circle, fixedsize=true, width=0.5, fontsize=10];\n"
            "  { rank=same; \"0.0\" \"0.1\" }\n"
            "  { rank=same; \"1.0\" \"1.1\" }\n"
            "  \"0.0\" -> \"1.0\";\n"
            "  \"0.0\" -> \"1.1\" [style=dashed];\n"
            "  \"0.1\" -> \"1.0\" [style=dashed];\n"
            "  \"0.1\" -> \"1.1\";\n"
            "}\n");
  const std::string wrapped = ToDot(Make(NetworkKind::kWrappedButterfly, 4), "w").value();
  EXPECT_THAT(wrapped, HasSubstr("\"1.3\" -> \"0.3\""));  // the last level is the first
}

TEST(Describe, RefusesToDrawWhatNobodyCanRead) {
  EXPECT_TRUE(ToDot(Make(NetworkKind::kTwoFoldButterfly, 128), "n").ok());
  EXPECT_EQ(ToDot(Make(NetworkKind::kTwoFoldButterfly, 256), "n").status().message(),
            "rows: a drawing of 256 rows cannot be read; at most 128");
}

}  // namespace
}  // namespace bfly
