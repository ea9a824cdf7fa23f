// SPDX-License-Identifier: Apache-2.0
// Multibutterflies, and butterflies with extra stages: what they are, and what they can't be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/describe.h"
#include "topologies/fault_set.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NetworkSpec Multi(uint32_t rows, int multiplicity) {
  return {
      .kind = NetworkKind::kMultibutterfly, .rows = rows, .seed = 1, .multiplicity = multiplicity};
}

std::string ErrorOf(const NetworkSpec& spec) {
  const auto network = Network::Make(spec);
  EXPECT_EQ(network.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(network.status().message());
}

TEST(Multibutterfly, HasTwiceTheMultiplicityLinksAtEveryNode) {
  const Network network = Network::Make(Multi(16, 3)).value();
  EXPECT_EQ(network.levels(), 5);
  EXPECT_EQ(network.stages(), 4);
  EXPECT_EQ(network.hops(), 4);
  EXPECT_EQ(network.ports(), 6);
  EXPECT_EQ(network.link_count(), 4u * 16 * 6);
  EXPECT_EQ(network.rule(), PortRule::kRoundRobin);
  EXPECT_EQ(network.tag_layout().bits(), 12);
}

TEST(Multibutterfly, EndsInSplittersOfTwoRowsWhereEveryEdgeIsParallel) {
  const Network network = Network::Make(Multi(16, 3)).value();
  for (Row row = 0; row < 16; ++row) {
    for (int port = 0; port < 6; ++port) {
      EXPECT_EQ(network.next_row(3, row, port), (row & ~1u) + (port >= 3));
    }
  }
}

TEST(Multibutterfly, RefusesWhatItCannotBe) {
  EXPECT_EQ(ErrorOf(Multi(64, 0)), "multiplicity: 0 is outside 1..16");
  EXPECT_EQ(ErrorOf(Multi(64, 17)), "multiplicity: 17 is outside 1..16");
  EXPECT_EQ(ErrorOf(Multi(8, 5)),
            "multiplicity: 5 is more than a splitter of 8 rows can take: a side of it has 4 "
            "outputs; use a lower multiplicity or more rows");
  EXPECT_TRUE(Network::Make(Multi(8, 4)).ok());
  EXPECT_TRUE(Network::Make(Multi(2, 1)).ok());
  EXPECT_THAT(ErrorOf(Multi(2, 2)), HasSubstr("a splitter of 2 rows can take"));
  for (const uint32_t rows : {0u, 1u, 12u, kMaxRows * 2}) {
    EXPECT_THAT(ErrorOf(Multi(rows, 2)), HasSubstr("is not a power of two from 2 to 1048576"));
  }
  // 13 hops of 5 bits; 12 hops are 60.
  EXPECT_THAT(ErrorOf(Multi(8192, 16)), HasSubstr("needs tags of 65 bits"));
  EXPECT_EQ(Network::Make(Multi(4096, 16)).value().tag_layout().bits(), 60);
  // 2^20 rows, 20 stages, 2 ports.
  EXPECT_EQ(ErrorOf(Multi(kMaxRows, 1)),
            "rows: 1048576 with a multiplicity of 1 make 41943040 randomly wired links; at most "
            "16777216 are kept: use fewer rows or a lower multiplicity");
  NetworkSpec spec = Multi(16, 1);
  spec.rule = PortRule::kRandom;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("rule: random has nothing to choose from"));
  EXPECT_EQ(
      ErrorOf(
          {.kind = NetworkKind::kButterfly, .rows = 8, .parallel_edges = ParallelEdges::kAvoid}),
      "parallel_edges: avoid needs kind multibutterfly, not butterfly");
  EXPECT_EQ(ParallelEdgesFromName("merge").status().message(),
            "parallel_edges: \"merge\" is not known; use keep or avoid");
  for (const ParallelEdges edges : {ParallelEdges::kKeep, ParallelEdges::kAvoid}) {
    EXPECT_EQ(ParallelEdgesFromName(ParallelEdgesName(edges)).value(), edges);
  }
}

TEST(Multibutterfly, DescribesItself) {
  const NetworkFacts facts = Describe(Network::Make(Multi(16, 2)).value());
  EXPECT_EQ(facts.kind, "multibutterfly");
  EXPECT_EQ(facts.multiplicity, 2);
  EXPECT_EQ(facts.parallel_edges, "keep");
  EXPECT_EQ(facts.extra_stages, 0);
  EXPECT_EQ(facts.dilation, 4);
  EXPECT_EQ(facts.example.rows.front(), 1u);
  EXPECT_EQ(facts.example.rows.back(), 14u);
  const Network network = Network::Make(Multi(4, 2)).value();
  const std::string dot = ToDot(network, "m").value();
  size_t arrows = 0;
  for (size_t at = 0; (at = dot.find(" -> ", at)) != std::string::npos; ++at) ++arrows;
  EXPECT_EQ(arrows, network.link_count());
  for (const LinkEnds& ends : AllLinks(network)) {
    EXPECT_THAT(dot, HasSubstr("\"" + std::to_string(ends.link.stage) + "." +
                               std::to_string(ends.link.row) + "\" -> \"" +
                               std::to_string(ends.link.stage + 1) + "." +
                               std::to_string(ends.next_row) + "\""));
  }
}

// What breadth-first search over the links that are left reaches, told without FaultSet's code.
TEST(Multibutterfly, ANodeThatIsDownLeavesWhatOtherPathsReach) {
  const Network network = Network::Make(Multi(16, 2)).value();
  for (Row broken = 0; broken < 16; ++broken) {
    FaultSet faults(network);
    faults.SetNodeUp({2, broken}, false);
    for (Row input = 0; input < 16; ++input) {
      std::vector<bool> at(16);
      at[input] = true;
      for (int stage = 0; stage < 4; ++stage) {
        if (stage == 2) at[broken] = false;
        std::vector<bool> next(16);
        for (Row row = 0; row < 16; ++row) {
          for (int port = 0; at[row] && port < 4; ++port) {
            next[network.next_row(stage, row, port)] = true;
          }
        }
        at = next;
      }
      EXPECT_EQ(faults.ReachableFrom(input), at);
    }
  }
}

NetworkSpec Extra(uint32_t rows, int extra_stages) {
  return {.kind = NetworkKind::kButterfly, .rows = rows, .extra_stages = extra_stages};
}

TEST(ExtraStages, RepeatTheFirstStages) {
  // THEORY.md 4.1: transition k touches bit (k mod n) + 1, mask 2^(n - 1 - k mod n).
  const Network network = Network::Make(Extra(8, 5)).value();
  EXPECT_EQ(network.stages(), 8);
  EXPECT_EQ(network.levels(), 9);
  EXPECT_EQ(network.link_count(), 8u * 16);
  std::vector<int> positions;
  for (int stage = 0; stage < 8; ++stage) positions.push_back(network.position_of_stage(stage));
  EXPECT_THAT(positions, ElementsAre(1, 2, 3, 1, 2, 3, 1, 2));
}

TEST(ExtraStages, GreedyGoesStraightThroughThem) {
  const Network network = Network::Make(Extra(16, 3)).value();
  // Row 0110 keeps its bits 0, 1, 1; then positions 4, 1, 2, 3 are set to those of 1001.
  const Tag tag = GreedyTag(network, 0b0110, 0b1001);
  EXPECT_EQ(tag, Tag{0b011'1100});
  EXPECT_EQ(TagToString(network, tag), "011 1100");
  EXPECT_EQ(WalkTag(network, 0b0110, tag),
            (std::vector<Row>{0b0110, 0b0110, 0b0110, 0b0110, 0b0111, 0b1111, 0b1011, 0b1001}));
  EXPECT_EQ(OutputOfTag(network, tag), 0b1001u);
}

// As many extra stages as the butterfly has make the two-fold butterfly.
TEST(ExtraStages, OfAWholeCopyMakeTheTwoFoldButterfly) {
  const Network extra = Network::Make(Extra(16, 4)).value();
  const Network two = Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 16}).value();
  ASSERT_EQ(extra.link_count(), two.link_count());
  for (const LinkEnds& ends : AllLinks(two)) {
    EXPECT_EQ(extra.next_row(ends.link.stage, ends.link.row, ends.link.port), ends.next_row);
  }
  for (Row input = 0; input < 16; ++input) {
    EXPECT_EQ(GreedyTag(extra, input, 5), GreedyTag(two, input, 5));
  }
}

TEST(ExtraStages, AreRefusedWhereTheyCannotBe) {
  EXPECT_EQ(ErrorOf(Extra(8, -1)), "extra_stages: -1 is outside 0..20");
  EXPECT_EQ(ErrorOf(Extra(8, 21)), "extra_stages: 21 is outside 0..20");
  NetworkSpec spec = Extra(8, 1);
  spec.kind = NetworkKind::kTwoFoldButterfly;
  EXPECT_EQ(ErrorOf(spec), "extra_stages: 1 needs kind butterfly, not two_fold_butterfly");
  EXPECT_EQ(Network::Make(Extra(kMaxRows, kMaxExtraStages)).value().hops(), 40);
  EXPECT_EQ(Describe(Network::Make(Extra(8, 2)).value()).extra_stages, 2);
}

TEST(TurnRow, RotatesToTheLeft) {
  EXPECT_EQ(TurnRow(0b1001, 0, 4), 0b1001u);
  EXPECT_EQ(TurnRow(0b1001, 1, 4), 0b0011u);
  EXPECT_EQ(TurnRow(0b1001, 3, 4), 0b1100u);
  EXPECT_EQ(TurnRow(1, 0, 1), 1u);
  EXPECT_EQ(TurnRow(kMaxRows - 2, 1, 20), kMaxRows - 3);
}

}  // namespace
}  // namespace bfly
