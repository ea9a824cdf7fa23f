// SPDX-License-Identifier: Apache-2.0
#include "topologies/fault_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "topologies/lost_pairs.h"

namespace bfly {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Network PlannedOn(NetworkKind kind, uint32_t rows, int multiplicity = 1) {
  return *Network::Make({.kind = kind, .rows = rows, .seed = 3, .multiplicity = multiplicity});
}

FaultSet Drawn(const Network& network, const RandomFaults& plan) {
  FaultSet faults(network);
  AddRandomFaults(plan, &faults);
  return faults;
}

FaultSet Chosen(const Network& network, const AdversarialFaults& plan) {
  FaultSet faults(network);
  AddAdversarialFaults(plan, &faults);
  return faults;
}

TEST(RandomFaults, AreAsManyAsTheirProbabilitySays) {
  const Network network = PlannedOn(NetworkKind::kButterfly, 1024);
  const FaultSet faults = Drawn(network, {.links = 0.1, .nodes = 0.05, .seed = 5});
  // 20,480 links and 9,216 switches between the ends; six standard deviations.
  EXPECT_NEAR(static_cast<double>(faults.down_links().size()), 2048,
              6 * std::sqrt(20480 * 0.1 * 0.9));
  EXPECT_NEAR(static_cast<double>(faults.down_nodes().size()), 460.8,
              6 * std::sqrt(9216 * 0.05 * 0.95));
  for (const NodeId& node : faults.down_nodes()) {
    EXPECT_GT(node.level, 0);
    EXPECT_LT(node.level, 10);
  }
}

TEST(RandomFaults, AreTheSameForTheSameSeed) {
  const Network network = PlannedOn(NetworkKind::kTwoFoldButterfly, 64);
  const RandomFaults plan = {.links = 0.05, .nodes = 0.02, .ends = true, .seed = 9};
  RandomFaults other = plan;
  other.seed = 10;
  EXPECT_EQ(Drawn(network, plan).down(), Drawn(network, plan).down());
  EXPECT_NE(Drawn(network, plan).down(), Drawn(network, other).down());
  // A higher rate takes down what a lower one does, and more.
  RandomFaults more = plan;
  more.links = 0.1;
  const FaultSet many = Drawn(network, more);
  for (const LinkId& link : Drawn(network, plan).down_links()) EXPECT_TRUE(many.is_down(link));
}

TEST(RandomFaults, TakeNothingOrEverythingDownAtTheEndsOfTheirRange) {
  const Network network = PlannedOn(NetworkKind::kButterfly, 8);
  EXPECT_TRUE(Drawn(network, {}).empty());
  EXPECT_THAT(Drawn(network, {.links = 1}).down_links(), SizeIs(48));
  EXPECT_THAT(Drawn(network, {.nodes = 1}).down_nodes(), SizeIs(16));
  EXPECT_THAT(Drawn(network, {.nodes = 1, .ends = true}).down_nodes(), SizeIs(32));
  EXPECT_EQ(FindLostPairs(Drawn(network, {.nodes = 1}), 1).pairs, 64u);
}

TEST(AdversarialFaults, TakeTheSwitchesBeforeOneOutputAfterTheOther) {
  const Network network = PlannedOn(NetworkKind::kButterfly, 8);
  // Rows that differ in the last bit lead to the same two outputs.
  EXPECT_THAT(Chosen(network, {.nodes = 3}).down_nodes(),
              ElementsAre(NodeId{2, 0}, NodeId{2, 1}, NodeId{2, 2}));
  EXPECT_THAT(Chosen(network, {.links = 3}).down_links(),
              ElementsAre(LinkId{2, 0, 0}, LinkId{2, 0, 1}, LinkId{2, 1, 0}));
  EXPECT_TRUE(Chosen(network, {}).empty());
}

TEST(AdversarialFaults, CutOffAsManyOutputsAsTheyTakeSwitches) {
  for (const NetworkKind kind : AllKinds()) {
    const Network network = PlannedOn(kind, 32);
    const LostPairs lost = FindLostPairs(Chosen(network, {.nodes = 6}), 1);
    // On a hypercube the last stage sets the leftmost bit.
    EXPECT_EQ(lost.pairs, 6u * 32u) << KindName(kind);
    EXPECT_THAT(lost.outputs, SizeIs(6)) << KindName(kind);
    EXPECT_THAT(lost.inputs, IsEmpty()) << KindName(kind);
    // Two links lead to an output.
    EXPECT_EQ(FindLostPairs(Chosen(network, {.links = 6}), 1).pairs, 3u * 32u) << KindName(kind);
    // The switches cut off two outputs, and the links a third one.
    EXPECT_EQ(FindLostPairs(Chosen(network, {.links = 2, .nodes = 2}), 1).pairs, 3u * 32u)
        << KindName(kind);
  }
  const Network dilated = PlannedOn(NetworkKind::kDilatedButterfly, 32, 3);
  EXPECT_EQ(FindLostPairs(Chosen(dilated, {.links = 6}), 1).pairs, 32u);
}

TEST(AdversarialFaults, MayNotTakeMoreThanTheLastStageHas) {
  const Network network = PlannedOn(NetworkKind::kButterfly, 8);
  EXPECT_TRUE(CheckAdversary({.links = 16, .nodes = 8}, network).ok());
  EXPECT_EQ(FindLostPairs(Chosen(network, {.nodes = 8}), 1).pairs, 64u);
  EXPECT_THAT(std::string(CheckAdversary({.links = 17}, network).message()),
              HasSubstr("links: 17 is outside 0..16"));
  EXPECT_THAT(std::string(CheckAdversary({.nodes = 9}, network).message()),
              HasSubstr("nodes: 9 is outside 0..8"));
}

}  // namespace
}  // namespace bfly
