// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/planned_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"
#include "tests/unit/topology_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string FaultyFile(const std::string& faults) {
  return "name: f\nnetwork: {kind: butterfly, rows: 8}\nplacement: [{stages: 0-2}]\nfaults: " +
         faults + "\n";
}

std::vector<Fault> DownBy(const std::string& faults) {
  const auto topology = ReadTopology(FaultyFile(faults), "f.yaml");
  EXPECT_TRUE(topology.ok()) << topology.status();
  if (!topology.ok()) return {};
  const Network network = *NetworkOf(topology->network());
  return PlannedFaults(topology->faults(), network).down();
}

std::string RefusedFor(const std::string& faults) {
  return std::string(ReadTopology(FaultyFile(faults), "f.yaml").status().message());
}

TEST(PlannedFaults, NameLinksAndNodesByRanges) {
  EXPECT_THAT(DownBy("{links: [{stages: 1, rows: 6, port: 1}], nodes: [{levels: 2, rows: 0-1}]}"),
              ElementsAre(Fault(LinkId{1, 6, 1}), Fault(NodeId{2, 0}), Fault(NodeId{2, 1})));
  EXPECT_THAT(DownBy("{links: [{stages: 0}]}"), SizeIs(16));
  EXPECT_THAT(DownBy("{nodes: [{levels: \"0,3\"}]}"), SizeIs(16));
  EXPECT_THAT(DownBy("{}"), IsEmpty());
}

TEST(PlannedFaults, AddUp) {
  // The adversary takes the nodes 0 and 1 of level 2. All switches are drawn.
  EXPECT_THAT(DownBy("{adversarial: {nodes: 2}, links: [{stages: 1, rows: 6, port: 1}]}"),
              ElementsAre(Fault(LinkId{1, 6, 1}), Fault(NodeId{2, 0}), Fault(NodeId{2, 1})));
  // Both links into output 0 are down already, so it takes those into output 1.
  EXPECT_THAT(DownBy("{adversarial: {links: 2}, links: [{stages: 2, rows: 0-1, port: 0}]}"),
              ElementsAre(Fault(LinkId{2, 0, 0}), Fault(LinkId{2, 0, 1}), Fault(LinkId{2, 1, 0}),
                          Fault(LinkId{2, 1, 1})));
  EXPECT_THAT(DownBy("{random: {nodes: 1, seed: 4}, nodes: [{levels: 0, rows: 5}]}"), SizeIs(17));
  EXPECT_EQ(DownBy("{random: {links: 0.3, seed: 4}}"), DownBy("{random: {links: 0.3, seed: 4}}"));
  EXPECT_NE(DownBy("{random: {links: 0.3, seed: 4}}"), DownBy("{random: {links: 0.3, seed: 5}}"));
}

TEST(PlannedFaults, ThatTheNetworkDoesNotHaveAreRefusedAndNamed) {
  EXPECT_THAT(RefusedFor("{links: [{stages: 3, rows: 8, port: 2}]}"),
              testing::AllOf(HasSubstr("faults.links[0].stages: stage 3 is outside 0..2"),
                             HasSubstr("faults.links[0].rows: row 8 is outside 0..7"),
                             HasSubstr("faults.links[0].port: 2 is not a port of this network")));
  EXPECT_THAT(RefusedFor("{nodes: [{levels: 4}]}"),
              HasSubstr("faults.nodes[0].levels: level 4 is outside 0..3"));
  EXPECT_THAT(RefusedFor("{nodes: [{rows: 1}]}"), HasSubstr("faults.nodes[0].levels: is missing"));
  EXPECT_THAT(RefusedFor("{nodes: [{levels: 1-}]}"), HasSubstr("is not a range"));
  EXPECT_THAT(RefusedFor("{random: {links: 1.5}}"),
              HasSubstr("faults.random.links: 1.5 is out of range"));
  EXPECT_THAT(RefusedFor("{random: {nodes: -0.1}}"),
              HasSubstr("faults.random.nodes: -0.1 is out of range"));
  EXPECT_THAT(RefusedFor("{adversarial: {nodes: 9}}"),
              HasSubstr("faults.adversarial.nodes: 9 is outside 0..8"));
  EXPECT_THAT(RefusedFor("{saboteur: 3}"), HasSubstr("saboteur"));
}

TEST(PlannedFaults, AreLimitedInNumber) {
  v1::Topology topology = Butterfly8();
  topology.mutable_network()->set_rows(1 << 16);
  Place(topology, "0-15", "");
  topology.mutable_faults()->add_links();
  EXPECT_THAT(Wrong(topology), ElementsAre(HasSubstr("faults: takes about 2097152 links and nodes "
                                                     "down (allowed: at most 1048576)")));
  topology.mutable_faults()->mutable_links(0)->set_stages("0-6");
  EXPECT_THAT(Wrong(topology), IsEmpty());
  topology.mutable_faults()->mutable_random()->set_links(0.5);
  EXPECT_THAT(Wrong(topology), SizeIs(1));

  // Of 17 levels 15 are between inputs and outputs: 983,040 switches.
  topology.clear_faults();
  topology.mutable_faults()->mutable_random()->set_nodes(1);
  EXPECT_THAT(Wrong(topology), IsEmpty());
  topology.mutable_faults()->mutable_random()->set_ends(true);
  EXPECT_THAT(Wrong(topology), ElementsAre(HasSubstr("takes about 1114112 links and nodes")));
}

TEST(PlannedFaults, OfTheAdversaryCountForTheLimit) {
  v1::Topology topology = Butterfly8();
  topology.mutable_network()->set_rows(1 << 20);
  Place(topology, "0-19", "");
  v1::AdversarialFaults& adversary = *topology.mutable_faults()->mutable_adversarial();
  adversary.set_links(1 << 20);
  EXPECT_THAT(Wrong(topology), IsEmpty());
  adversary.set_nodes(1 << 19);
  EXPECT_THAT(Wrong(topology), ElementsAre(HasSubstr("takes about 1572864 links and nodes")));
  // These switches leave no link that comes from another.
  adversary.set_nodes(1 << 20);
  EXPECT_THAT(Wrong(topology), IsEmpty());
}

}  // namespace
}  // namespace bfly::control
