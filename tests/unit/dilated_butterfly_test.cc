// SPDX-License-Identifier: Apache-2.0
// Networks with several ports a direction.
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

Network Dilated(uint32_t rows, int multiplicity) {
  return Network::Make(
             {.kind = NetworkKind::kDilatedButterfly, .rows = rows, .multiplicity = multiplicity})
      .value();
}

TEST(DilatedButterfly, HasMultiplicityLinksInPlaceOfEach) {
  // B_8 has 3 stages of 16 links.
  const Network network = Dilated(8, 3);
  EXPECT_EQ(network.stages(), 3);
  EXPECT_EQ(network.hops(), 3);
  EXPECT_EQ(network.ports(), 6);
  EXPECT_EQ(network.link_count(), 3u * 48);
  for (int port = 0; port < 6; ++port) {
    EXPECT_EQ(network.direction_of(port), port < 3 ? 0 : 1);
    EXPECT_EQ(network.next_row(0, 0b010, port), port < 3 ? 0b010u : 0b110u);
    EXPECT_EQ(network.next_row(2, 0b010, port), port < 3 ? 0b010u : 0b011u);
  }
  EXPECT_THAT(network.feeders(1, 0b010),
              ElementsAre(LinkId{1, 0, 3}, LinkId{1, 0, 4}, LinkId{1, 0, 5}, LinkId{1, 2, 3},
                          LinkId{1, 2, 4}, LinkId{1, 2, 5}));
}

TEST(DilatedButterfly, OfMultiplicityOneIsTheButterfly) {
  const Network one = Dilated(16, 1);
  const Network plain = Network::Make({.kind = NetworkKind::kButterfly, .rows = 16}).value();
  ASSERT_EQ(one.link_count(), plain.link_count());
  EXPECT_EQ(one.tag_layout().bits(), plain.tag_layout().bits());
  for (const LinkEnds& ends : AllLinks(plain)) {
    EXPECT_EQ(one.next_row(ends.link.stage, ends.link.row, ends.link.port), ends.next_row);
  }
}

TEST(DilatedButterfly, TagsSayDirectionAndPortOfEachHop) {
  // One direction bit and one or two bits of the port: four hops of two or three bits.
  const Network two = Dilated(16, 2), three = Dilated(16, 3);
  EXPECT_EQ(two.tag_layout().bits(), 8);
  EXPECT_EQ(three.tag_layout().bits(), 12);
  const Tag tag = TagOfPorts(three, {4, 0, 2, 5}).value();
  EXPECT_EQ(tag, Tag{0b101'000'010'110});
  EXPECT_THAT(PortsOfTag(three, tag), ElementsAre(4, 0, 2, 5));
  EXPECT_EQ(TagToString(three, tag), "1.1 0.0 0.2 1.2");
  EXPECT_EQ(OutputOfTag(three, tag), 0b1001u);
  EXPECT_EQ(WalkTag(three, 0b0110, tag),
            (std::vector<Row>{0b0110, 0b1110, 0b1010, 0b1000, 0b1001}));
  // The greedy path takes the first port of each direction.
  EXPECT_EQ(GreedyTag(two, 3, 0b1010), Tag{0b10'00'10'00});
  EXPECT_EQ(OutputOfTag(two, 0b11'01'10'01), 0b1010u);
  // Number 3 of a field's lower bits names no port.
  EXPECT_TRUE(three.tag_layout().IsPath(tag));
  EXPECT_FALSE(three.tag_layout().IsPath(0b101'011'010'110));
  EXPECT_FALSE(three.tag_layout().IsPath(Tag{1} << 12));
  EXPECT_EQ(TagOfPorts(three, {4, 0, 6, 5}).status().message(), "ports[2]: 6 is outside 0..5");
  EXPECT_EQ(TagOfPorts(three, {4, 0}).status().message(), "ports: 2 given, a path has 4");
}

TEST(DilatedButterfly, RefusesWhatItCannotBe) {
  const auto error = [](const NetworkSpec& spec) {
    const auto network = Network::Make(spec);
    EXPECT_EQ(network.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(network.status().message());
  };
  const auto dilated = [](uint32_t rows, int multiplicity) {
    return NetworkSpec{
        .kind = NetworkKind::kDilatedButterfly, .rows = rows, .multiplicity = multiplicity};
  };
  EXPECT_EQ(error(dilated(8, 0)), "multiplicity: 0 is outside 1..16");
  EXPECT_EQ(error(dilated(8, 9)),
            "multiplicity: 9 is outside 1..8, which a dilated_butterfly may have");
  EXPECT_EQ(error(dilated(8, 17)), "multiplicity: 17 is outside 1..16");
  EXPECT_TRUE(Network::Make(dilated(8, 8)).ok());
  EXPECT_EQ(error({.kind = NetworkKind::kBenes, .rows = 8, .multiplicity = 2}),
            "multiplicity: 2 needs kind dilated_butterfly or multibutterfly, not benes");
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kDilatedButterfly}) {
    EXPECT_THAT(error({.kind = kind, .rows = 8, .rule = PortRule::kRandom}),
                HasSubstr("rule: random has nothing to choose from: this network has one port a "
                          "direction"));
  }
  // 20 hops of four bits; 15 hops of four bits are 60.
  EXPECT_THAT(error(dilated(1 << 20, 8)),
              HasSubstr("multiplicity: 8 with 1048576 rows needs tags of 80 bits"));
  EXPECT_EQ(Dilated(1 << 15, 8).tag_layout().bits(), 60);
}

TEST(DilatedButterfly, RulesHaveNamesThatReadBack) {
  for (const PortRule rule : AllRules()) EXPECT_EQ(RuleFromName(RuleName(rule)).value(), rule);
  EXPECT_EQ(RuleFromName("fairest").status().message(),
            "rule: \"fairest\" is not a rule; use one of first_free, round_robin, least_occupied, "
            "random");
}

TEST(DilatedButterfly, OneOfTwoParallelLinksDownLeavesEverythingReachable) {
  const Network network = Dilated(8, 2);
  FaultSet faults(network);
  for (Row row = 0; row < 8; ++row) {
    faults.SetLinkUp({1, row, 0}, false);
    faults.SetLinkUp({1, row, 3}, false);
  }
  EXPECT_THAT(faults.ReachableFrom(5), testing::Each(true));
  faults.SetLinkUp({1, 1, 1}, false);
  // 0x1 is reached from 101 over row 001 of level 1 and direction 0 of stage 1 only.
  EXPECT_THAT(faults.ReachableFrom(5),
              ElementsAre(false, false, true, true, true, true, true, true));
}

TEST(DilatedButterfly, ANodeTakesItsLinksOfAllPortsWithIt) {
  const Network network = Dilated(4, 2);
  FaultSet faults(network);
  faults.SetNodeUp({1, 2}, false);
  EXPECT_THAT(faults.blocked_links(),
              ElementsAre(LinkId{0, 0, 2}, LinkId{0, 0, 3}, LinkId{0, 2, 2}, LinkId{0, 2, 3},
                          LinkId{1, 2, 0}, LinkId{1, 2, 1}, LinkId{1, 2, 2}, LinkId{1, 2, 3}));
  faults.SetNodeUp({1, 2}, true);
  EXPECT_TRUE(faults.empty());
}

TEST(DilatedButterfly, AFaultOnANodeThatDoesNotExistIsRefused) {
  const Network network = Dilated(4, 2);
  EXPECT_EQ(CheckFault(NodeId{3, 0}, network).message(), "level: 3 is outside 0..2");
  EXPECT_EQ(CheckFault(NodeId{0, 4}, network).message(), "row: 4 is outside 0..3");
  EXPECT_EQ(CheckFault(NodeId{0, 4}, network).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(CheckFault(LinkId{0, 0, 4}, network).message(), "port: 4 is outside 0..3");
  EXPECT_TRUE(CheckFault(NodeId{2, 3}, network).ok());
  EXPECT_TRUE(CheckFault(LinkId{1, 3, 3}, network).ok());
}

TEST(DilatedButterfly, DrawsParallelLinks) {
  const std::string dot = ToDot(Dilated(2, 2), "d").value();
  size_t straight = 0, cross = 0;
  for (size_t at = 0; (at = dot.find("\"0.0\" -> \"1.0\"", at)) != std::string::npos; ++at) {
    ++straight;
  }
  for (size_t at = 0; (at = dot.find("\"0.0\" -> \"1.1\"", at)) != std::string::npos; ++at) {
    ++cross;
  }
  EXPECT_EQ(straight, 2u);
  EXPECT_EQ(cross, 2u);
  const NetworkFacts facts = Describe(Dilated(8, 2));
  EXPECT_EQ(facts.multiplicity, 2);
  EXPECT_EQ(facts.rule, "round_robin");
  EXPECT_EQ(facts.tag_bits_per_hop, 2);
}

}  // namespace
}  // namespace bfly
