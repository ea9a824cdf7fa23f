// SPDX-License-Identifier: Apache-2.0
#include "topologies/lost_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topologies/faulty_switches.h"

namespace bfly {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Network EightRows(NetworkKind kind, int multiplicity = 1) {
  return *Network::Make({.kind = kind, .rows = 8, .seed = 3, .multiplicity = multiplicity});
}

LostPairs LostWith(const Network& network, const std::vector<Fault>& down) {
  FaultSet faults(network);
  for (const Fault& fault : down) faults.SetFault(fault, /*down=*/true);
  return FindLostPairs(faults, 8);
}

std::vector<NodeId> FaultyWith(const Network& network, const std::vector<Fault>& down) {
  FaultSet faults(network);
  for (const Fault& fault : down) faults.SetFault(fault, /*down=*/true);
  return FaultySwitches(faults).up_but_faulty();
}

TEST(LostPairs, AButterflyLosesThePairsOfTheOnePathOverALink) {
  const Network network = EightRows(NetworkKind::kButterfly);
  EXPECT_EQ(LostWith(network, {}).pairs, 0u);
  // Input 0 goes to the outputs 0 to 3 by port 0.
  const LostPairs first = LostWith(network, {LinkId{0, 0, 0}});
  EXPECT_EQ(first.pairs, 4u);
  EXPECT_THAT(first.examples,
              ElementsAre(RowPair{0, 0}, RowPair{0, 1}, RowPair{0, 2}, RowPair{0, 3}));
  EXPECT_THAT(first.inputs, IsEmpty());
  EXPECT_THAT(first.outputs, IsEmpty());
  // The inputs 2 and 6 reach node 110 of level 1, and by its port 1 the outputs 6 and 7.
  const LostPairs second = LostWith(network, {LinkId{1, 6, 1}});
  EXPECT_THAT(second.examples,
              ElementsAre(RowPair{2, 6}, RowPair{2, 7}, RowPair{6, 6}, RowPair{6, 7}));
  EXPECT_EQ(second.pairs, 4u);
  EXPECT_TRUE(second.exact);
}

TEST(LostPairs, ANodeIsOnThePathsFromItsInputsToItsOutputs) {
  const Network network = EightRows(NetworkKind::kButterfly);
  // The inputs 0, 2, 4 and 6, which share its last bit, and the outputs 6 and 7.
  EXPECT_EQ(LostWith(network, {NodeId{2, 6}}).pairs, 8u);
  // Of these the link takes two pairs with it, once.
  EXPECT_EQ(LostWith(network, {NodeId{2, 6}, LinkId{1, 6, 1}}).pairs, 8u);
}

TEST(LostPairs, AnEndThatIsDownIsCutOff) {
  for (const NetworkKind kind : {NetworkKind::kButterfly, NetworkKind::kTwoFoldButterfly,
                                 NetworkKind::kBenes, NetworkKind::kHypercube}) {
    const Network network = EightRows(kind);
    const LostPairs lost = LostWith(network, {NodeId{0, 5}, NodeId{network.stages(), 1}});
    EXPECT_EQ(lost.pairs, 15u) << KindName(kind);  // a row and a column of 8, one pair in both
    EXPECT_THAT(lost.inputs, ElementsAre(5));
    EXPECT_THAT(lost.outputs, ElementsAre(1));
    EXPECT_THAT(lost.examples, SizeIs(8));
  }
}

TEST(LostPairs, WithoutALevelNothingIsReached) {
  for (const NetworkKind kind : AllKinds()) {
    const Network network = EightRows(kind);
    for (int level = 0; level < network.levels(); ++level) {
      std::vector<Fault> down;
      for (Row row = 0; row < 8; ++row) down.emplace_back(NodeId{level, row});
      const LostPairs lost = LostWith(network, down);
      EXPECT_EQ(lost.pairs, 64u) << KindName(kind) << " " << level;
      EXPECT_THAT(lost.inputs, SizeIs(8));
      EXPECT_THAT(lost.outputs, SizeIs(8));
    }
  }
}

TEST(LostPairs, OneMiddleRowIsEnoughForATwoFoldButterfly) {
  const Network network = EightRows(NetworkKind::kTwoFoldButterfly);
  std::vector<Fault> down;
  for (Row row = 0; row < 7; ++row) down.emplace_back(NodeId{3, row});
  EXPECT_EQ(LostWith(network, down).pairs, 0u);
  down.emplace_back(NodeId{3, 7});
  EXPECT_EQ(LostWith(network, down).pairs, 64u);
}

TEST(LostPairs, ParallelLinksStandInForEachOther) {
  const Network network = EightRows(NetworkKind::kDilatedButterfly, 2);
  EXPECT_EQ(LostWith(network, {LinkId{1, 6, 2}}).pairs, 0u);
  EXPECT_EQ(LostWith(network, {LinkId{1, 6, 2}, LinkId{1, 6, 3}}).pairs, 4u);
}

TEST(LostPairs, ASearchThatWouldTakeTooLongSaysSo) {
  const Network network =
      *Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 128, .seed = 3});
  FaultSet faults(network);
  // Half of the middle rows lose output 0 and the other half output 127, so every input is in
  // doubt.
  faults.SetLinkUp({13, 0, 0}, false);
  faults.SetLinkUp({13, 127, 1}, false);
  const LostPairs all = FindLostPairs(faults, 8);
  EXPECT_TRUE(all.exact);
  EXPECT_EQ(all.pairs, 0u);
  EXPECT_FALSE(FindLostPairs(faults, 8, /*most_steps=*/1).exact);
}

TEST(FaultySwitches, ASwitchCountsThatCannotSendInOneOfItsDirections) {
  const Network network = EightRows(NetworkKind::kButterfly);
  // Nodes 100 and 110 of level 1 lead to it, and to them the inputs 0, 4, 2 and 6.
  EXPECT_THAT(FaultyWith(network, {NodeId{2, 6}}),
              ElementsAre(NodeId{0, 0}, NodeId{0, 2}, NodeId{0, 4}, NodeId{0, 6}, NodeId{1, 4},
                          NodeId{1, 6}));
  EXPECT_THAT(FaultyWith(network, {LinkId{1, 6, 1}}),
              ElementsAre(NodeId{0, 2}, NodeId{0, 6}, NodeId{1, 6}));
  EXPECT_THAT(FaultyWith(network, {}), IsEmpty());
}

TEST(FaultySwitches, AnotherPortOfTheDirectionKeepsASwitchSound) {
  const Network network = EightRows(NetworkKind::kDilatedButterfly, 3);
  EXPECT_THAT(FaultyWith(network, {LinkId{1, 6, 3}, LinkId{1, 6, 5}}), IsEmpty());
  EXPECT_THAT(FaultyWith(network, {LinkId{1, 6, 3}, LinkId{1, 6, 4}, LinkId{1, 6, 5}}),
              ElementsAre(NodeId{0, 2}, NodeId{0, 6}, NodeId{1, 6}));
  // Parallel links lead to one switch, so none of them is better than the others.
  FaultSet faults(network);
  faults.SetNodeUp({2, 6}, false);
  EXPECT_THAT(FaultySwitches(faults).links_to_avoid(), IsEmpty());
}

TEST(FaultySwitches, OutputsThatAreCutOffSayNothingOfASwitch) {
  const Network network = EightRows(NetworkKind::kButterfly);
  EXPECT_THAT(FaultyWith(network, {NodeId{3, 6}}), IsEmpty());
  // Both switches before the outputs 6 and 7.
  EXPECT_THAT(FaultyWith(network, {NodeId{2, 6}, NodeId{2, 7}}), IsEmpty());
  // Another fault still counts.
  EXPECT_THAT(FaultyWith(network, {NodeId{3, 6}, LinkId{1, 0, 0}}),
              ElementsAre(NodeId{0, 0}, NodeId{0, 4}, NodeId{1, 0}));
}

TEST(FaultySwitches, EveryNodeOfALevelMayBeDown) {
  for (const NetworkKind kind : AllKinds()) {
    const Network network = EightRows(kind);
    FaultSet faults(network);
    for (Row row = 0; row < 8; ++row) faults.SetNodeUp({network.levels() - 1, row}, false);
    const FaultySwitches switches(faults);
    EXPECT_THAT(switches.reached(), AllOf(SizeIs(8), Each(false))) << KindName(kind);
  }
}

}  // namespace
}  // namespace bfly
