// SPDX-License-Identifier: Apache-2.0
// Links that the controller changes live: every data plane gets the change, the controller keeps
// it, and data planes that come back get it again.
#include <gmock/gmock.h>

#include "tests/control/scripted_agent.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class LinksServiceTest : public testing::Test {
 protected:
  std::unique_ptr<TestAgent> Agent(const std::string& name) {
    return std::make_unique<TestAgent>(directory_.path(), name, FakeBackend(board_, name));
  }
  static absl::StatusOr<v1::SetLinksResponse> Set(TestController& controller,
                                                  absl::string_view selector,
                                                  const std::string& rate,
                                                  uint64_t election_id = 0) {
    v1::SetLinksRequest request;
    *request.add_changes() = *ParseLinkSelector(selector);
    request.mutable_changes(0)->set_rate(rate);
    request.set_election_id(election_id);
    return Call(*controller.fabric, &v1::Fabric::Stub::SetLinks, request);
  }
  static std::vector<std::string> Rates(TestController& controller) {
    std::vector<std::string> rates;
    const auto links = Call(*controller.fabric, &v1::Fabric::Stub::GetLinks, v1::GetLinksRequest());
    if (!links.ok()) return {std::string(links.status().message())};
    for (const v1::LinkGroup& group : links->links()) {
      rates.push_back("s" + group.stages() + " r" + group.rows() + " " + group.rate());
    }
    return rates;
  }

  FakeBoard board_;
  TemporaryFolder directory_;
};

TEST_F(LinksServiceTest, AChangeReachesEveryDataPlaneAndIsShown) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  EXPECT_THAT(std::string(Set(controller, "all", "1Mbps").status().message()),
              HasSubstr("no fabric is loaded"));
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  board_.TakeLog();
  const auto set = Set(controller, "s1 r0-1", "10Mbps");
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->links_size(), 1);
  EXPECT_EQ(set->links(0).rate(), "10Mbps");
  const auto log = board_.TakeLog();
  EXPECT_EQ(std::count(log.begin(), log.end(), "links 1"), 2);
  EXPECT_THAT(Rates(controller), Contains("s1 r0-1 10Mbps"));
}

TEST_F(LinksServiceTest, TheAnswerShowsTheLinksOfEachChangeAsTheyAreAfterAllChanges) {
  auto dp0 = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  v1::SetLinksRequest request;
  for (const auto& [selector, rate] :
       {std::pair{"s1 r0-3", "10Mbps"}, {"s2 r5", "20Mbps"}, {"s1 r3", "30Mbps"}}) {
    v1::LinkOverride* const change = request.add_changes();
    *change = *ParseLinkSelector(selector);
    change->set_rate(rate);
  }
  const auto set = Call(*controller.fabric, &v1::Fabric::Stub::SetLinks, request);
  ASSERT_TRUE(set.ok()) << set.status();
  std::vector<std::string> groups;
  for (const v1::LinkGroup& group : set->links()) {
    groups.push_back("s" + group.stages() + " r" + group.rows() + " " + group.rate());
  }
  EXPECT_THAT(groups,
              ElementsAre("s1 r0-2 10Mbps", "s1 r3 30Mbps", "s2 r5 20Mbps", "s1 r3 30Mbps"));
}

TEST_F(LinksServiceTest, WrongChangesNameTheirFieldsAndChangeNothing) {
  auto dp0 = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  board_.TakeLog();
  const absl::Status units = Set(controller, "s1", "10Mbit").status();
  EXPECT_EQ(units.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(FieldsOf(units), ElementsAre("changes[0].rate"));
  EXPECT_THAT(std::string(units.message()), HasSubstr("bps, kbps, Mbps or Gbps"));
  EXPECT_THAT(FieldsOf(Set(controller, "s99 r9999", "1Mbps").status()),
              ElementsAre("changes[0].stages", "changes[0].rows"));
  const auto nothing = Set(controller, "s1", "");
  EXPECT_EQ(nothing.status().code(), absl::StatusCode::kInvalidArgument);
  v1::GetLinksRequest get;
  get.set_rows("9999");
  EXPECT_THAT(FieldsOf(Call(*controller.fabric, &v1::Fabric::Stub::GetLinks, get).status()),
              ElementsAre("rows"));
  for (const std::string& line : board_.TakeLog()) EXPECT_NE(line.rfind("links", 0), 0u) << line;
}

TEST_F(LinksServiceTest, AChangeOfAllLinksMakesRoomForFurtherChanges) {
  auto dp0 = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/false, 256)).ok());
  // Each of 16 stages with each of 256 rows: as many rectangles as there may be.
  const auto listed = [](int numbers) {
    std::string text = "0";
    for (int number = 1; number < numbers; ++number) text += "," + std::to_string(number);
    return text;
  };
  ASSERT_TRUE(Set(controller, "s" + listed(16) + " r" + listed(256), "1Mbps").ok());
  EXPECT_THAT(std::string(Set(controller, "s1 p1", "2Mbps").status().message()),
              HasSubstr("names 4097 rectangles of stages and rows (allowed: 4096)"));
  v1::SetLinksRequest request;
  v1::LinkOverride& all = *request.add_changes();
  all.set_rate("3Mbps");
  all.set_delay("0s");
  all.set_queue_limit(0);
  all.set_discipline(v1::LinkPolicy::FIFO);
  all.set_loss(0);
  const auto set = Call(*controller.fabric, &v1::Fabric::Stub::SetLinks, request);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(Set(controller, "s1 p1", "2Mbps").ok());
  EXPECT_EQ(dp0->host().held(true).link_changes.size(), 2);
}

// Stages 0-2 are on dp0, 3-5 on dp1, 6 and 7 on dp2.
v1::Topology OverThreePlanes() {
  v1::Topology topology = SmallTopology(/*split=*/true);
  topology.add_data_planes()->set_name("dp2");
  topology.clear_placement();
  for (const auto& [stages, plane] : {std::pair{"0-2", "dp0"}, {"3-5", "dp1"}, {"6-7", "dp2"}}) {
    v1::StagePlacement* placement = topology.add_placement();
    placement->set_stages(stages);
    placement->set_data_plane(plane);
  }
  topology.mutable_trunks(0)->set_after_stage(2);
  v1::Trunk* second = topology.add_trunks();
  second->set_name("t1");
  second->set_after_stage(5);
  second->set_from("dp1");
  second->set_from_device("net_memif1,role=server,id=1");
  second->set_to("dp2");
  second->set_to_device("net_memif1,role=client,id=1");
  return topology;
}

// One data plane cannot take the change back at once, and that keeps no other from taking it back.
TEST_F(LinksServiceTest, AChangeThatTheLastDataPlaneRefusesIsTakenBackAtAllOthers) {
  ScriptedAgent dp0(directory_.path(), "dp0"), dp1(directory_.path(), "dp1"),
      dp2(directory_.path(), "dp2");
  TestController controller(directory_.path());
  const absl::Status loaded = Load(controller, OverThreePlanes());
  ASSERT_TRUE(loaded.ok()) << loaded;
  const auto answer = [](ScriptedAgent& agent, std::deque<grpc::Status> answers) {
    const std::lock_guard lock(agent.mutex);
    agent.links_answers = std::move(answers);
  };
  answer(dp0, {grpc::Status::OK, {grpc::StatusCode::RESOURCE_EXHAUSTED, "no memory"}});
  answer(dp2, {{grpc::StatusCode::INTERNAL, "no hand on the links"}});
  const absl::Status refused = Set(controller, "s1 r0-1", "10Mbps").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInternal) << refused;
  EXPECT_EQ(refused.message(), "data plane dp2: no hand on the links");
  for (ScriptedAgent* agent : {&dp0, &dp1, &dp2}) {
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(agent->mutex);
      return agent->links_answers.empty() && agent->state.link_changes().empty();
    }));
  }
  EXPECT_TRUE(Eventually([&] { return controller.controller().all_usable(); }));
}

TEST_F(LinksServiceTest, OfTwoControllersOnlyThePrimaryMay) {
  auto dp0 = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const absl::Status status = Set(controller, "all", "1Mbps", 5).status();
  EXPECT_THAT(FieldsOf(status), ElementsAre("election_id"));
}

TEST_F(LinksServiceTest, ADataPlaneThatComesBackGetsThemAgain) {
  auto dp0 = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  ASSERT_TRUE(Set(controller, "s1", "10Mbps").ok());
  dp0.reset();
  board_.TakeLog();
  dp0 = Agent("dp0");
  EXPECT_TRUE(Eventually([&] { return dp0->host().held(true).link_changes.size() == 1; }));
  EXPECT_EQ(dp0->host().held(true).link_changes[0].rate(), "10Mbps");
}

TEST_F(LinksServiceTest, AControllerThatComesBackTakesThemOver) {
  auto dp0 = Agent("dp0");
  auto controller = std::make_unique<TestController>(directory_.path());
  ASSERT_TRUE(Load(*controller, SmallTopology()).ok());
  ASSERT_TRUE(Set(*controller, "s1", "10Mbps").ok());
  controller.reset();
  controller = std::make_unique<TestController>(directory_.path());
  EXPECT_THAT(Rates(*controller), Contains(HasSubstr("s1 r0-15 10Mbps")));
  EXPECT_EQ(dp0->host().held(true).link_changes.size(), 1);
}

}  // namespace
}  // namespace bfly::control
