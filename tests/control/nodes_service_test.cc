// SPDX-License-Identifier: Apache-2.0
// Nodes that are down: which data planes are told which links, what stays down by itself, what
// restarts leave, and what becomes of circuits.
#include <gmock/gmock.h>

#include "control/controller/faults.h"
#include "tests/control/faults_fixture.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// Stages 0 to 3 are dp0's, 4 to 7 dp1's, so node 0110 of level 4 has links of both. A link has the
// index (stage * 16 + row) * 2 + port. Stage 3 gives the last bit: rows 6 and 7 lead to row 6 by
// port 0, links 108 and 110. Links 140 and 141 leave the node.
class NodesTest : public FaultsTest {
 protected:
  void StartSplit() {
    agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
    dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1"));
    controller_ = std::make_unique<TestController>(directory_.path(), 20);
    ASSERT_TRUE(Load(*controller_, SmallTopology(/*split=*/true)).ok());
    TakeLinkLog();
  }
  absl::Status Node(uint32_t level, Row row, bool up) {
    return SetNode(*controller_, level, row, up);
  }
  std::vector<std::string> TakeLinkLog() {
    std::vector<std::string> told;
    for (const std::string& line : board_.TakeLog()) {
      if (line.find("link ") == 0) told.push_back(line);
    }
    return told;
  }
  void RefuseLinks(std::set<uint64_t> links) {
    const std::lock_guard lock(board_.mutex);
    board_.refused_links = std::move(links);
  }
  // "l4 r6" and "s4 r6 p1", those taken down by themselves.
  std::vector<std::string> Down(const std::string& stages = "") {
    v1::GetLinksRequest request;
    request.set_stages(stages);
    const auto links = Call(*controller_->fabric, &v1::Fabric::Stub::GetLinks, request);
    EXPECT_TRUE(links.ok()) << links.status();
    std::vector<std::string> down;
    for (const v1::LinkRef& link : links->down()) down.push_back(NameOf(link));
    for (const v1::NodeRef& node : links->down_nodes()) {
      down.push_back("l" + std::to_string(node.level()) + " r" + std::to_string(node.row()));
    }
    return down;
  }
  bool AllUsable() { return controller_->controller().all_usable(); }

  std::unique_ptr<TestAgent> dp1_;
};

TEST_F(NodesTest, EveryDataPlaneTakesDownTheLinksOfTheNodeThatItRuns) {
  StartSplit();
  ASSERT_TRUE(Node(4, 6, false).ok());
  EXPECT_THAT(TakeLinkLog(),
              ElementsAre("link 108 down", "link 110 down", "link 140 down", "link 141 down"));
  EXPECT_THAT(agent_->host().held(true).down_nodes, ElementsAre(NodeId{4, 6}));
  EXPECT_THAT(dp1_->host().held(true).down_nodes, ElementsAre(NodeId{4, 6}));
  EXPECT_THAT(Down(), ElementsAre("l4 r6"));
  EXPECT_THAT(Down("3"), ElementsAre("l4 r6"));
  EXPECT_THAT(Down("5-7"), IsEmpty());
  // An input has only links that leave it, an output only links that lead to it; stage 7 gives the
  // last bit, so rows 2 and 3 lead to row 3 by port 1.
  ASSERT_TRUE(Node(0, 5, false).ok());
  ASSERT_TRUE(Node(8, 3, false).ok());
  EXPECT_THAT(TakeLinkLog(),
              ElementsAre("link 10 down", "link 11 down", "link 229 down", "link 231 down"));
  EXPECT_THAT(agent_->host().held(true).down_nodes, SizeIs(2));
  EXPECT_THAT(dp1_->host().held(true).down_nodes, SizeIs(2));
}

TEST_F(NodesTest, ALinkTakenDownByItselfStaysDownWhenItsNodeIsUp) {
  StartSplit();
  ASSERT_TRUE(Node(4, 6, false).ok());
  TakeLinkLog();
  v1::LinkRef link;
  link.set_stage(4);
  link.set_row(6);
  link.set_port(1);
  ASSERT_TRUE(SetLink(link, false).ok());
  EXPECT_THAT(Down(), ElementsAre("s4 r6 p1", "l4 r6"));
  ASSERT_TRUE(Node(4, 6, true).ok());
  EXPECT_THAT(Down(), ElementsAre("s4 r6 p1"));
  EXPECT_THAT(TakeLinkLog(), ElementsAre("link 141 down", "link 108 up", "link 110 up",
                                         "link 140 up", "link 141 down"));
  // Nor does `link up` bring back a link whose node is down.
  ASSERT_TRUE(Node(4, 6, false).ok());
  TakeLinkLog();
  ASSERT_TRUE(SetLink(link, true).ok());
  EXPECT_THAT(TakeLinkLog(), ElementsAre("link 141 down"));
  EXPECT_THAT(Down(), ElementsAre("l4 r6"));
}

TEST_F(NodesTest, ANodeThatTheNetworkDoesNotHaveIsRefusedAndNamed) {
  StartSplit();
  const absl::Status status = Node(9, 16, false);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status), ElementsAre("level", "row"));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("9 is outside 0..8"), HasSubstr("16 is outside 0..15")));
  EXPECT_THAT(TakeLinkLog(), IsEmpty());
  // The last stage of a wrapped network leads to level 0.
  const Network wrapped =
      *Network::Make({.kind = NetworkKind::kWrappedButterfly, .rows = 16, .seed = 1});
  v1::SetNodeStateRequest request;
  request.set_level(3);
  EXPECT_TRUE(FaultOf(request, wrapped).ok());
  request.set_level(4);
  EXPECT_THAT(std::string(FaultOf(request, wrapped).status().message()),
              HasSubstr("level: 4 is outside 0..3"));
}

TEST_F(NodesTest, ANodeIsDownAtAllOfItsDataPlanesOrAtNone) {
  StartSplit();
  const v1::Circuit circuit = SetUpOne(0, 7);
  const Row row = circuit.rows(4);
  RefuseLinks({(4 * 16 + row) * 2});
  const absl::Status refused = Node(4, row, false);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("data plane dp1"));
  EXPECT_THAT(agent_->host().held(true).down_nodes, IsEmpty());
  EXPECT_THAT(dp1_->host().held(true).down_nodes, IsEmpty());
  EXPECT_THAT(Down(), IsEmpty());
  EXPECT_THAT(Broken(), IsEmpty());
  const std::vector<std::string> told = TakeLinkLog();
  ASSERT_THAT(told, SizeIs(4));  // two links of stage 3 down, then up
  EXPECT_THAT(told[0], HasSubstr("down"));
  EXPECT_THAT(told[3], HasSubstr("up"));
  RefuseLinks({});
  ASSERT_TRUE(Eventually([&] { return AllUsable(); }));
  EXPECT_TRUE(Node(4, row, false).ok());
  EXPECT_THAT(Broken(), SizeIs(1));
}

TEST_F(NodesTest, ADataPlaneThatComesBackIsToldOfItsNodesAgain) {
  StartSplit();
  ASSERT_TRUE(Node(4, 6, false).ok());
  ASSERT_TRUE(Node(1, 2, false).ok());
  dp1_.reset();
  ASSERT_TRUE(Eventually([&] { return !AllUsable(); }));
  TakeLinkLog();
  dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1"));
  ASSERT_TRUE(Eventually([&] { return AllUsable(); }));
  EXPECT_THAT(dp1_->host().held(true).down_nodes, ElementsAre(NodeId{4, 6}));
  EXPECT_THAT(TakeLinkLog(), ElementsAre("link 140 down", "link 141 down"));
}

TEST_F(NodesTest, AControllerThatComesBackTellsNodesFromLinks) {
  StartSplit();
  const v1::Circuit circuit = SetUpOne(0, 7);
  const Row row = circuit.rows(4);
  ASSERT_TRUE(Node(4, row, false).ok());
  ASSERT_TRUE(SetLink(LinkOf(circuit, 6), false).ok());
  const std::vector<std::string> before = Down();
  ASSERT_THAT(before, SizeIs(2));
  controller_.reset();
  TakeLinkLog();
  controller_ = std::make_unique<TestController>(directory_.path(), 20);
  ASSERT_TRUE(Eventually([&] { return AllUsable() && List(*controller_).size() == 1; }));
  EXPECT_EQ(Down(), before);
  ASSERT_THAT(Broken(), SizeIs(1));
  EXPECT_EQ(Broken()[0].broken_size(), 3);
  EXPECT_THAT(TakeLinkLog(), IsEmpty());
  ASSERT_TRUE(Node(4, row, true).ok());
  EXPECT_EQ(Broken()[0].broken_size(), 1);
}

TEST_F(NodesTest, ADataPlaneThatNobodyToldIsToldWhatAnotherOneHolds) {
  StartSplit();
  // An earlier controller that ended between the two calls would have left this state.
  controller_.reset();
  ASSERT_TRUE(agent_->host().SetFault(NodeId{4, 6}, /*down=*/true).ok());
  controller_ = std::make_unique<TestController>(directory_.path(), 20);
  ASSERT_TRUE(
      Eventually([&] { return AllUsable() && !dp1_->host().held(true).down_nodes.empty(); }));
  EXPECT_THAT(Down(), ElementsAre("l4 r6"));
  EXPECT_THAT(TakeLinkLog(), UnorderedElementsAre("link 108 down", "link 110 down", "link 140 down",
                                                  "link 141 down"));
}

TEST_F(NodesTest, ADataPlaneThatIsComparedBecauseOfAnotherSaysWhy) {
  StartSplit();
  ASSERT_TRUE(agent_->host().SetFault(NodeId{4, 6}, /*down=*/true).ok());
  board_.CloseGate();
  const DataPlanes planes = controller_->controller().intent().planes();
  planes[0]->Learn([](DataPlane::Known& known) { known.in_step = false; });
  EXPECT_TRUE(Eventually([&] {
    return planes[1]->known().problem == "is compared because links are down at data plane dp0";
  }));
  board_.OpenGate();
  EXPECT_TRUE(
      Eventually([&] { return AllUsable() && !dp1_->host().held(true).down_nodes.empty(); }));
}

TEST_F(NodesTest, StatusAndDescribeSayWhatCannotBeReachedAnyMore) {
  Start();
  const auto status = [&] {
    return Call(*controller_->fabric, &v1::Fabric::Stub::Status, v1::StatusRequest())->status();
  };
  EXPECT_FALSE(status().has_faults());
  // BB_n goes around a link.
  ASSERT_TRUE(Node(4, 6, false).ok());
  EXPECT_EQ(status().faults().nodes(), 1u);
  EXPECT_EQ(status().faults().unreachable_pairs(), 0u);
  ASSERT_TRUE(Node(8, 7, false).ok());
  const v1::FaultReport report = status().faults();
  EXPECT_EQ(report.nodes(), 2u);
  EXPECT_EQ(report.pairs(), 256u);
  EXPECT_EQ(report.unreachable_pairs(), 16u);
  EXPECT_TRUE(report.exact());
  EXPECT_EQ(report.cut_off_inputs(), "");
  EXPECT_EQ(report.cut_off_outputs(), "7");
  ASSERT_EQ(report.examples_size(), 8);
  EXPECT_EQ(report.examples(7).input(), 7u);
  EXPECT_EQ(report.examples(7).output(), 7u);
  const auto described =
      Call(*controller_->fabric, &v1::Fabric::Stub::Describe, v1::DescribeRequest());
  EXPECT_EQ(described->faults().DebugString(), report.DebugString());
  ASSERT_TRUE(Node(8, 7, true).ok());
  EXPECT_EQ(status().faults().unreachable_pairs(), 0u);
  ASSERT_TRUE(Node(4, 6, true).ok());
  EXPECT_FALSE(status().has_faults());
}

TEST_F(NodesTest, FaultsOfTheTopologyAreThereFromTheBeginningUntilTheyAreRestored) {
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  dp1_ = std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1"));
  controller_ = std::make_unique<TestController>(directory_.path(), 20);
  v1::Topology topology = SmallTopology(/*split=*/true);
  v1::FaultyNodes& nodes = *topology.mutable_faults()->add_nodes();
  nodes.set_levels("4");
  nodes.set_rows("6");
  v1::FaultyLinks& links = *topology.mutable_faults()->add_links();
  links.set_stages("1");
  links.set_rows("2-3");
  links.set_port(0);
  ASSERT_TRUE(Load(*controller_, topology).ok());
  const std::vector<std::string> planned = {"s1 r2 p0", "s1 r3 p0", "l4 r6"};
  EXPECT_EQ(Down(), planned);
  EXPECT_THAT(TakeLinkLog(),
              UnorderedElementsAre("link 36 down", "link 38 down", "link 108 down", "link 110 down",
                                   "link 140 down", "link 141 down"));
  // Circuits go around them from the first one on.
  for (Row row = 0; row < 4; ++row) EXPECT_THAT(SetUpOne(row, row).broken(), IsEmpty());
  v1::LinkRef link;
  link.set_stage(1);
  link.set_row(2);
  ASSERT_TRUE(SetLink(link, true).ok());
  const std::vector<std::string> left = {"s1 r3 p0", "l4 r6"};
  EXPECT_EQ(Down(), left);
  // A data plane that begins anew is told what is down now, not what the topology says.
  agent_.reset();
  ASSERT_TRUE(Eventually([&] { return !AllUsable(); }));
  TakeLinkLog();
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  ASSERT_TRUE(Eventually([&] { return AllUsable(); }));
  EXPECT_THAT(TakeLinkLog(),
              UnorderedElementsAre("link 38 down", "link 108 down", "link 110 down"));
  EXPECT_EQ(Down(), left);
  // Nor does a controller that comes back take the link down again.
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path(), 20);
  ASSERT_TRUE(Eventually([&] { return AllUsable(); }));
  EXPECT_EQ(Down(), left);
  EXPECT_THAT(TakeLinkLog(), IsEmpty());
}

TEST_F(NodesTest, FaultsThatTheNetworkDoesNotHaveAreRefusedWithTheTopology) {
  agent_ = std::make_unique<TestAgent>(directory_.path(), "dp0", FakeBackend(board_, "dp0"));
  controller_ = std::make_unique<TestController>(directory_.path(), 20);
  v1::Topology topology = SmallTopology(/*split=*/false);
  topology.mutable_faults()->add_nodes()->set_levels("9");
  topology.mutable_faults()->mutable_adversarial()->set_links(33);
  const absl::Status status = Load(*controller_, topology);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(status),
              ElementsAre("topology.faults.nodes[0].levels", "topology.faults.adversarial.links"));
}

TEST_F(NodesTest, EveryNodeOfALevelMayGoDownAndComeBack) {
  Start();
  const auto report = [&] {
    return Call(*controller_->fabric, &v1::Fabric::Stub::Status, v1::StatusRequest())
        ->status()
        .faults();
  };
  for (Row row = 0; row < 16; ++row) ASSERT_TRUE(Node(4, row, false).ok());
  EXPECT_EQ(report().unreachable_pairs(), 256u);
  EXPECT_EQ(report().cut_off_inputs(), "0-15");
  EXPECT_EQ(report().cut_off_outputs(), "0-15");
  EXPECT_EQ(SetUpCircuit(*controller_, 0, 7).status().code(), absl::StatusCode::kUnavailable);
  for (Row row = 0; row < 16; ++row) ASSERT_TRUE(Node(4, row, true).ok());
  EXPECT_TRUE(SetUpCircuit(*controller_, 0, 7).ok());
}

TEST_F(NodesTest, CircuitsOverANodeAreBrokenAndSetUpsGoAroundIt) {
  Start();
  const v1::Circuit p = SetUpOne(0, 7);
  ASSERT_EQ(p.choice(), "p");
  TakeRouteLog();
  ASSERT_TRUE(Node(3, p.rows(3), false).ok());
  ASSERT_THAT(Broken(), SizeIs(1));
  ASSERT_EQ(Broken()[0].broken_size(), 2);
  EXPECT_EQ(Broken()[0].broken(0).DebugString(), LinkOf(p, 2).DebugString());
  EXPECT_EQ(Broken()[0].broken(1).DebugString(), LinkOf(p, 3).DebugString());
  EXPECT_EQ(BrokenInTelemetry(), 1u);
  EXPECT_THAT(TakeRouteLog(), IsEmpty());
  ASSERT_TRUE(ReleaseCircuit(*controller_, p.id()).ok());
  const v1::Circuit other = SetUpOne(0, 7);
  EXPECT_EQ(other.choice(), "p_prime");
  ASSERT_TRUE(Node(5, other.rows(5), false).ok());
  EXPECT_THAT(Broken(), SizeIs(1));
  ASSERT_TRUE(ReleaseCircuit(*controller_, other.id()).ok());
  const absl::Status refused = SetUpCircuit(*controller_, 0, 7).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(FieldsOf(refused), ElementsAre("link"));
  EXPECT_EQ(
      std::string(refused.message()),
      "link: " + NameOf(LinkOf(p, 2)) + " is down with node l3 r" + std::to_string(p.rows(3)));
  ASSERT_TRUE(Node(5, other.rows(5), true).ok());
  EXPECT_EQ(SetUpOne(0, 7).choice(), "p_prime");
}

TEST_F(NodesTest, ToAnEndThatIsDownThereIsNoPath) {
  Start();
  const v1::Circuit to_7 = SetUpOne(0, 7);
  const v1::Circuit from_3 = SetUpOne(3, 9);
  const v1::Circuit other = SetUpOne(5, 5);
  ASSERT_TRUE(Node(8, 7, false).ok());
  ASSERT_TRUE(Node(0, 3, false).ok());
  std::vector<uint64_t> broken;
  for (const v1::Circuit& circuit : Broken()) broken.push_back(circuit.id());
  EXPECT_THAT(broken, ElementsAre(to_7.id(), from_3.id()));
  ASSERT_THAT(Broken(false), SizeIs(1));
  EXPECT_EQ(Broken(false)[0].id(), other.id());
  v1::MoveRequest move;
  move.set_id(to_7.id());
  EXPECT_THAT(std::string(Move(move).status().message()), HasSubstr("is down with node l8 r7"));
  move.set_id(from_3.id());
  EXPECT_THAT(std::string(Move(move).status().message()), HasSubstr("is down with node l0 r3"));
  for (const std::string protocol : {"minimum", "collision", "greedy", "valiant", "one_choice"}) {
    v1::RoutePermutationRequest request;
    request.set_protocol(protocol);
    request.set_dry_run(true);
    request.set_replace(true);
    request.add_inputs(2);
    request.add_outputs(7);
    const absl::Status status = Ask(request).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << protocol;
    EXPECT_THAT(std::string(status.message()), HasSubstr("is down with node l8 r7")) << protocol;
  }
}

TEST_F(NodesTest, RepairMovesCircuitsBeforeTheNodeIsDown) {
  StartWith(v1::CircuitPolicy::REPAIR);
  const v1::Circuit circuit = SetUpOne(0, 7);
  board_.TakeLog();
  ASSERT_TRUE(Node(3, circuit.rows(3), false).ok());
  std::vector<std::string> told;
  for (const std::string& line : board_.TakeLog()) {
    if (line.find("read") != 0) told.push_back(line);
  }
  ASSERT_THAT(told, SizeIs(5));
  EXPECT_EQ(told[0], "install 0");
  told.erase(told.begin());
  EXPECT_THAT(told, Each(HasSubstr("down")));
  EXPECT_THAT(Broken(), IsEmpty());
  EXPECT_EQ(List(*controller_)[0].choice(), "p_prime");
}

TEST_F(NodesTest, ReleaseEndsWhatCrossesANodeThatGoesDown) {
  StartWith(v1::CircuitPolicy::RELEASE);
  const v1::Circuit circuit = SetUpOne(0, 7);
  const v1::Circuit other = SetUpOne(9, 2);
  ASSERT_TRUE(Node(8, 7, false).ok());
  ASSERT_THAT(List(*controller_), SizeIs(1));
  EXPECT_EQ(List(*controller_)[0].id(), other.id());
}

}  // namespace
}  // namespace bfly::control
