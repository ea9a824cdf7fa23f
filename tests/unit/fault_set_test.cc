// SPDX-License-Identifier: Apache-2.0
#include "topologies/fault_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace bfly {
namespace {

using testing::ElementsAre;

Network NetworkFor(NetworkKind kind, uint32_t rows, int passes = 1) {
  return *Network::Make({.kind = kind, .rows = rows, .seed = 3, .passes = passes});
}

TEST(FaultSet, ALinkThatIsDownIsTheFirstOneOfThePathsThatCrossIt) {
  const Network network = NetworkFor(NetworkKind::kButterfly, 8);
  FaultSet faults(network);
  EXPECT_TRUE(faults.empty());
  // 010 -> 110 goes over 010, 110, 110, 110; its second link leaves row 110 by port 1.
  const Tag tag = GreedyTag(network, 2, 6);
  EXPECT_TRUE(faults.IsWhole(2, tag));
  faults.SetLinkUp({1, 6, 1}, false);
  EXPECT_EQ(faults.FirstOnPath(2, tag), (LinkId{1, 6, 1}));
  EXPECT_EQ(faults.WhyBlocked({1, 6, 1}), "s1 r6 p1 is down");
  // 6 -> 6 crosses it too, 6 -> 4 turns off before.
  EXPECT_FALSE(faults.IsWhole(6, GreedyTag(network, 6, 6)));
  EXPECT_TRUE(faults.IsWhole(6, GreedyTag(network, 6, 4)));
  faults.SetLinkUp({0, 2, 1}, false);
  EXPECT_EQ(faults.FirstOnPath(2, tag), (LinkId{0, 2, 1}));
  EXPECT_THAT(faults.OnPath(2, tag), ElementsAre(LinkId{0, 2, 1}, LinkId{1, 6, 1}));
  EXPECT_THAT(faults.down_links(), ElementsAre(LinkId{0, 2, 1}, LinkId{1, 6, 1}));
  for (const LinkId& link : faults.down_links()) faults.SetLinkUp(link, true);
  EXPECT_TRUE(faults.empty());
  EXPECT_TRUE(faults.IsWhole(2, tag));
}

TEST(FaultSet, TakingALinkDownTwiceIsTakingItDownOnce) {
  const Network network = NetworkFor(NetworkKind::kButterfly, 8);
  FaultSet faults(network);
  faults.SetLinkUp({1, 6, 1}, false);
  faults.SetLinkUp({1, 6, 1}, false);
  faults.SetLinkUp({1, 6, 1}, true);
  EXPECT_TRUE(faults.empty());
  faults.SetLinkUp({1, 6, 1}, true);
  EXPECT_TRUE(faults.empty());
}

TEST(FaultSet, ANodeTakesAllItsLinksWithItAndIsNamedAsTheReason) {
  const Network network = NetworkFor(NetworkKind::kButterfly, 8);
  FaultSet faults(network);
  faults.SetLinkUp({2, 6, 0}, false);
  faults.SetNodeUp({2, 6}, false);
  // Into node 110 of level 2 lead 110 and 100 of level 1, by port 1; two links leave it.
  EXPECT_THAT(faults.blocked_links(),
              ElementsAre(LinkId{1, 4, 1}, LinkId{1, 6, 1}, LinkId{2, 6, 0}, LinkId{2, 6, 1}));
  EXPECT_THAT(faults.down_links(), ElementsAre(LinkId{2, 6, 0}));
  EXPECT_EQ(faults.WhyBlocked({2, 6, 1}), "s2 r6 p1 is down with node l2 r6");
  EXPECT_EQ(faults.WhyBlocked({1, 4, 1}), "s1 r4 p1 is down with node l2 r6");
  EXPECT_EQ(faults.WhyBlocked({2, 6, 0}), "s2 r6 p0 is down");
  EXPECT_THAT(faults.down_nodes(), ElementsAre(NodeId{2, 6}));
  EXPECT_TRUE(faults.is_down(NodeId{2, 6}));
  EXPECT_FALSE(faults.is_down(LinkId{2, 6, 1}));
  // A link to be avoided is not the reason while its node is down.
  faults.Avoid({2, 6, 1});
  EXPECT_EQ(faults.WhyBlocked({2, 6, 1}), "s2 r6 p1 is down with node l2 r6");
  faults.SetNodeUp({2, 6}, true);
  EXPECT_EQ(faults.WhyBlocked({2, 6, 1}), "s2 r6 p1 is to be avoided");
}

TEST(FaultSet, ANodeGivesBackOnlyTheLinksItTook) {
  const Network network = NetworkFor(NetworkKind::kButterfly, 8);
  FaultSet faults(network);
  faults.SetLinkUp({2, 6, 0}, false);
  faults.SetNodeUp({2, 6}, false);
  faults.SetNodeUp({2, 6}, true);
  EXPECT_THAT(faults.blocked_links(), ElementsAre(LinkId{2, 6, 0}));
}

TEST(FaultSet, InputsAndOutputsAreNodesToo) {
  const Network network = NetworkFor(NetworkKind::kButterfly, 8);
  FaultSet faults(network);
  faults.SetNodeUp({0, 5}, false);
  faults.SetNodeUp({3, 1}, false);
  EXPECT_THAT(faults.blocked_links(),
              ElementsAre(LinkId{0, 5, 0}, LinkId{0, 5, 1}, LinkId{2, 0, 1}, LinkId{2, 1, 1}));
  EXPECT_THAT(faults.ReachableFrom(5), testing::Each(false));
  EXPECT_FALSE(faults.ReachableFrom(0)[1]);
}

TEST(FaultSet, AnAvoidedLinkIsNotDown) {
  const Network network = NetworkFor(NetworkKind::kButterfly, 8);
  FaultSet faults(network);
  faults.Avoid({1, 6, 1});
  EXPECT_FALSE(faults.IsWhole(2, GreedyTag(network, 2, 6)));
  EXPECT_EQ(faults.WhyBlocked({1, 6, 1}), "s1 r6 p1 is to be avoided");
  EXPECT_TRUE(faults.down_links().empty());
}

TEST(FaultSet, AWrappedPathMeetsALinkInBothOfItsPasses) {
  const Network network = NetworkFor(NetworkKind::kWrappedButterfly, 8, 2);
  FaultSet faults(network);
  // 000 all the way round, twice.
  faults.SetLinkUp({1, 0, 0}, false);
  EXPECT_THAT(faults.OnPath(0, 0), ElementsAre(LinkId{1, 0, 0}));
  // The last stage leads to level 0.
  FaultSet node(network);
  node.SetNodeUp({0, 0}, false);
  EXPECT_THAT(node.blocked_links(),
              ElementsAre(LinkId{0, 0, 0}, LinkId{0, 0, 1}, LinkId{2, 0, 0}, LinkId{2, 1, 0}));
  EXPECT_EQ(node.WhyBlocked({2, 1, 0}), "s2 r1 p0 is down with node l0 r0");
}

TEST(FaultSet, ALinkIsBackWhenBothOfItsNodesAre) {
  const Network network = NetworkFor(NetworkKind::kButterfly, 8);
  FaultSet faults(network);
  // Link 2 6 1 leads from node 110 of level 2 to node 111 of level 3.
  faults.SetFault(NodeId{2, 6}, /*down=*/true);
  faults.SetFault(NodeId{3, 7}, /*down=*/true);
  const uint64_t link = network.link_index({2, 6, 1});
  EXPECT_TRUE(faults.blocks(link));
  faults.SetFault(NodeId{2, 6}, /*down=*/false);
  EXPECT_EQ(faults.WhyBlocked({2, 6, 1}), "s2 r6 p1 is down with node l3 r7");
  EXPECT_THAT(faults.blocked_links(), ElementsAre(LinkId{2, 6, 1}, LinkId{2, 7, 1}));
  faults.SetFault(LinkId{2, 6, 1}, /*down=*/true);
  EXPECT_THAT(faults.down(), ElementsAre(Fault(LinkId{2, 6, 1}), Fault(NodeId{3, 7})));
  faults.SetFault(NodeId{3, 7}, /*down=*/false);
  EXPECT_THAT(faults.blocked_links(), ElementsAre(LinkId{2, 6, 1}));
  faults.SetFault(LinkId{2, 6, 1}, /*down=*/false);
  EXPECT_TRUE(faults.empty());
}

// Against all paths, one by one.
TEST(FaultSet, AnOutputIsReachableIfSomePathToItIsWhole) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly,
                                 NetworkKind::kBenes, NetworkKind::kRandomlyWiredButterfly,
                                 NetworkKind::kWrappedButterfly, NetworkKind::kHypercube}) {
    const Network network = NetworkFor(kind, 8, kind == NetworkKind::kWrappedButterfly ? 2 : 1);
    FaultSet faults(network);
    std::set<uint64_t> down;
    for (uint64_t k = 0; k < network.link_count(); k += 3 + k % 2) {
      faults.SetLinkUp(network.link_at(k), false);
      down.insert(k);
    }
    for (Row input = 0; input < 8; ++input) {
      std::vector<bool> reachable(8);
      for (Tag tag = 0; tag < Tag{1} << network.hops(); ++tag) {
        bool whole = true;
        ForEachLink(network, input, tag, [&](uint64_t link) { whole &= down.count(link) == 0; });
        EXPECT_EQ(faults.IsWhole(input, tag), whole);
        if (whole) reachable[OutputOfTag(network, tag)] = true;
      }
      EXPECT_EQ(faults.ReachableFrom(input), reachable) << KindName(kind) << " " << input;
    }
  }
}

}  // namespace
}  // namespace bfly
