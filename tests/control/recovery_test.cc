// SPDX-License-Identifier: Apache-2.0
// Either side dies and comes back. The controller compares and makes up the difference; it never
// clears first.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class RecoveryTest : public testing::Test {
 protected:
  std::unique_ptr<TestAgent> Agent(const std::string& name) {
    return std::make_unique<TestAgent>(directory_.path(), name, FakeBackend(board_, name));
  }
  static v1::DataPlaneStatus Plane(TestController& controller, const std::string& name) {
    const v1::FabricStatus status = StatusOf(controller);
    for (const v1::DataPlaneStatus& plane : status.data_planes()) {
      if (plane.name() == name) return plane;
    }
    return {};
  }
  static bool Running(TestController& controller, const std::string& name) {
    const v1::DataPlaneStatus plane = Plane(controller, name);
    return plane.state() == v1::DataPlaneStatus::RUNNING && plane.problem().empty();
  }
  // The changes that the data planes got, without the questions.
  std::vector<std::string> Told() {
    std::vector<std::string> told;
    for (const std::string& line : board_.TakeLog()) {
      if (line.rfind("read", 0) != 0) told.push_back(line);
    }
    return told;
  }

  FakeBoard board_;
  TemporaryFolder directory_;
};

TEST_F(RecoveryTest, ADataPlaneThatDiesIsUnreachableAndSetUpsAreUnavailable) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  ASSERT_TRUE(SetUpCircuit(controller, 3, 5).ok());
  // The circuits are installed at dp0, but their paths cross dp1.
  dp1.reset();
  EXPECT_TRUE(Eventually(
      [&] { return Plane(controller, "dp1").state() == v1::DataPlaneStatus::UNREACHABLE; }));
  EXPECT_THAT(Plane(controller, "dp1").problem(), HasSubstr("cannot be reached"));
  EXPECT_EQ(Plane(controller, "dp0").state(), v1::DataPlaneStatus::RUNNING);
  const absl::Status status = SetUpCircuit(controller, 4, 6).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("dp1"));
  EXPECT_EQ(List(controller).size(), 1u);

  dp1 = Agent("dp1");
  EXPECT_TRUE(Eventually([&] { return Running(controller, "dp1"); }));
  EXPECT_TRUE(SetUpCircuit(controller, 4, 6).ok());
  ExpectCountsEqualRecount(controller, dp0.get());
}

TEST_F(RecoveryTest, ADataPlaneThatComesBackEmptyGetsEverythingAgain) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  for (Row row : {1, 2, 3}) ASSERT_TRUE(SetUpCircuit(controller, row, row).ok());
  v1::SetLinkStateRequest link;
  link.set_stage(2);
  ASSERT_TRUE(Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, link).ok());
  v1::StartTrafficRequest traffic;
  traffic.add_sources();
  ASSERT_TRUE(Call(*controller.traffic, &v1::Traffic::Stub::Start, traffic).ok());

  agent.reset();
  EXPECT_TRUE(Eventually(
      [&] { return Plane(controller, "dp0").state() == v1::DataPlaneStatus::UNREACHABLE; }));
  Told();
  agent = Agent("dp0");
  EXPECT_TRUE(Eventually([&] { return Running(controller, "dp0"); }));
  // Links go down before circuits and sources come. Link 64 is of stage 2: 16 rows with 2 ports.
  EXPECT_THAT(Told(), ElementsAre("load dp0", "link 64 down", "install 1", "install 2", "install 3",
                                  "sources 1"));
  EXPECT_EQ(Plane(controller, "dp0").reconciled(), 3u);
  ExpectCountsEqualRecount(controller, agent.get());
  EXPECT_TRUE(SetUpCircuit(controller, 4, 4).ok());
}

TEST_F(RecoveryTest, ADataPlaneBehindATrunkThatComesBackRecordsLatenciesAgain) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  v1::StartTrafficRequest traffic;
  traffic.add_sources()->set_latency(true);
  ASSERT_TRUE(Call(*controller.traffic, &v1::Traffic::Stub::Start, traffic).ok());
  dp1.reset();
  EXPECT_TRUE(Eventually(
      [&] { return Plane(controller, "dp1").state() == v1::DataPlaneStatus::UNREACHABLE; }));
  Told();
  dp1 = Agent("dp1");
  EXPECT_TRUE(Eventually([&] { return Running(controller, "dp1"); }));
  EXPECT_THAT(Told(), ElementsAre("load dp1", "latency on", "sources 0"));
  EXPECT_TRUE(dp1->host().traffic()->latency.recording);
  EXPECT_EQ(dp0->host().held(true).sources.size(), 1u);
}

TEST_F(RecoveryTest, ARestartThatNobodyNoticedIsMadeUpByTheNextSetUp) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path(), /*watch_interval_ms=*/3'600'000);
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  ASSERT_TRUE(SetUpCircuit(controller, 1, 1).ok());
  agent.reset();
  agent = Agent("dp0");
  // While the connection is made again the answer is UNAVAILABLE, and nothing changes.
  EXPECT_TRUE(Eventually([&] { return SetUpCircuit(controller, 2, 2).ok(); }));
  EXPECT_EQ(List(controller).size(), 2u);
  ExpectCountsEqualRecount(controller, agent.get());
}

TEST_F(RecoveryTest, WhatIsMissingIsInstalledAndWhatIsStaleRemovedAndNothingElseTouched) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  for (Row row : {1, 2, 3}) ASSERT_TRUE(SetUpCircuit(controller, row, row).ok());
  EXPECT_TRUE(Eventually([&] { return Running(controller, "dp0"); }));
  Told();
  // Behind the controller's back circuit 2 is lost, circuit 9 has no owner, and circuit 3 has
  // another path.
  ASSERT_TRUE(agent->host()
                  .UpdateCircuits(
                      {{.input = 9, .tag = 9, .id = 77}, {.input = 3, .tag = 3, .id = 78}}, {2}, 0)
                  .ok());
  EXPECT_TRUE(Eventually([&] { return Plane(controller, "dp0").reconciled() == 3; }));
  const std::vector<std::string> told = Told();
  ASSERT_THAT(told, SizeIs(6));
  EXPECT_THAT(std::vector(told.begin(), told.begin() + 3),
              UnorderedElementsAre("remove 2", "install 9", "install 3"));
  EXPECT_THAT(std::vector(told.begin() + 3, told.end()),
              ElementsAre("remove 9", "install 2", "install 3"));
  ExpectCountsEqualRecount(controller, agent.get());
}

TEST_F(RecoveryTest, AControllerThatRestartsTakesOverWhatIsThere) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  std::vector<v1::Circuit> before;
  {
    TestController controller(directory_.path());
    ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
    for (Row row : {1, 2, 3}) ASSERT_TRUE(SetUpCircuit(controller, row, 15 - row).ok());
    before = List(controller);
  }
  Told();
  TestController controller(directory_.path());
  EXPECT_TRUE(StatusOf(controller).loaded());
  EXPECT_EQ(StatusOf(controller).name(), "test");
  const std::vector<v1::Circuit> after = List(controller);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].id(), before[i].id());
    EXPECT_EQ(after[i].tag(), before[i].tag());
    EXPECT_EQ(after[i].choice(), before[i].choice());
  }
  EXPECT_THAT(Told(), IsEmpty());
  ExpectCountsEqualRecount(controller, dp0.get());
  const auto next = SetUpCircuit(controller, 7, 7);
  ASSERT_TRUE(next.ok());
  EXPECT_GT(next->circuit().id(), before.back().id());
  EXPECT_TRUE(ReleaseCircuit(controller, before[0].id()).ok());
}

// The n-th set-up of the state directory, from 1, at row 1 of 16.
constexpr uint64_t IdOfSetUp(uint64_t n) { return n * 16 + 1; }

TEST_F(RecoveryTest, NoControllerGivesAnIdThatAnEarlierOneGave) {
  auto agent = Agent("dp0");
  uint64_t set_ups = 0;
  for (int run = 0; run < 3; ++run) {
    TestController controller(directory_.path());
    if (run == 0) {
      ASSERT_TRUE(Load(controller, SmallTopology()).ok());
    }
    for (int i = 0; i < 2; ++i) {
      const auto circuit = SetUpCircuit(controller, 1, 1);
      ASSERT_TRUE(circuit.ok()) << circuit.status();
      EXPECT_EQ(circuit->circuit().id(), IdOfSetUp(++set_ups));
      ASSERT_TRUE(ReleaseCircuit(controller, circuit->circuit().id()).ok());
    }
  }
}

TEST_F(RecoveryTest, IdsOfSetUpsThatTheStoreDidNotHearOfAreNotGivenAgain) {
  auto agent = Agent("dp0");
  const std::string store = directory_.path() + "/intent.db";
  const std::string as_loaded = directory_.path() + "/as-loaded";
  const auto set_up = [](TestController& controller) {
    const auto circuit = SetUpCircuit(controller, 1, 1);
    EXPECT_TRUE(circuit.ok()) << circuit.status();
    const uint64_t id = circuit.ok() ? circuit->circuit().id() : 0;
    EXPECT_TRUE(ReleaseCircuit(controller, id).ok());
    return id;
  };
  uint64_t last = 0;
  {
    TestController controller(directory_.path());
    ASSERT_TRUE(Load(controller, SmallTopology()).ok());
    std::filesystem::copy_file(store, as_loaded);
    for (int i = 0; i < 5; ++i) last = set_up(controller);
    EXPECT_EQ(last, IdOfSetUp(5));
  }
  // A power cut left what the disk had when the fabric was loaded.
  std::filesystem::rename(as_loaded, store);
  TestController controller(directory_.path());
  const uint64_t next = set_up(controller);
  EXPECT_GT(next, last);
  EXPECT_EQ(next % 16, 1u);
}

TEST_F(RecoveryTest, ARestartedControllerWaitsForADataPlaneThatIsAwayWithTheCircuits) {
  auto dp0 = Agent("dp0");
  auto dp1 = Agent("dp1");
  {
    TestController controller(directory_.path());
    ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  }
  dp1.reset();
  TestController controller(directory_.path());
  EXPECT_TRUE(StatusOf(controller).loaded());
  EXPECT_EQ(SetUpCircuit(controller, 1, 1).status().code(), absl::StatusCode::kUnavailable);
  dp1 = Agent("dp1");
  EXPECT_TRUE(Eventually([&] { return Running(controller, "dp1"); }));
  EXPECT_TRUE(SetUpCircuit(controller, 1, 1).ok());
}

// Whether the agent could load a fabric that is not the controller's, which may have loaded its own
// since the agent started.
bool LoadsOther(TestAgent& agent) {
  v1::Topology other = SmallTopology(false, 4);
  other.set_name("other");
  return Eventually([&] {
    agent.host().Unload().status().IgnoreError();
    return agent.host().Load(other).ok();
  });
}

TEST_F(RecoveryTest, AnotherFabricInADataPlaneIsNotThrownOut) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  agent.reset();
  agent = Agent("dp0");
  ASSERT_TRUE(LoadsOther(*agent));
  EXPECT_TRUE(Eventually([&] {
    return Plane(controller, "dp0").problem().find("another fabric") != std::string::npos;
  }));
  EXPECT_EQ(Plane(controller, "dp0").state(), v1::DataPlaneStatus::RUNNING);
  EXPECT_TRUE(Plane(controller, "dp0").out_of_step());
  EXPECT_EQ(agent->host().held(true).topology.name(), "other");
  EXPECT_EQ(SetUpCircuit(controller, 1, 1).status().code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(Load(controller, SmallTopology(), /*replace=*/true).ok());
  EXPECT_TRUE(SetUpCircuit(controller, 1, 1).ok());
  EXPECT_FALSE(Plane(controller, "dp0").out_of_step());
}

TEST_F(RecoveryTest, WhatAnotherFabricInADataPlaneCountsIsNotCounted) {
  const auto inject = [&](uint64_t packets) {
    const std::lock_guard lock(board_.mutex);
    board_.figures["dp0"].conservation = {.injected = packets, .delivered = packets};
    board_.figures["dp0"].links.assign(1, {.packets = packets});
  };
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto count = [&] {
    v1::GetCountersRequest request;
    request.mutable_filter()->set_nonzero(true);
    const auto counters = Call(*controller.telemetry, &v1::Telemetry::Stub::GetCounters, request);
    EXPECT_TRUE(counters.ok()) << counters.status();
    return counters.ok() ? *counters : v1::Counters();
  };
  inject(7);
  EXPECT_EQ(count().conservation().injected(), 7u);
  EXPECT_THAT(count().links(), SizeIs(1));
  agent.reset();
  inject(1000);
  agent = Agent("dp0");
  ASSERT_TRUE(LoadsOther(*agent));
  // This status, unlike that of the service, reads no counters.
  EXPECT_TRUE(Eventually([&] {
    const v1::FabricStatus status = controller.controller().Status();
    return status.data_planes(0).problem().find("another fabric") != std::string::npos;
  }));
  const v1::Counters counters = count();
  EXPECT_EQ(counters.conservation().injected(), 7u);
  EXPECT_THAT(counters.links(), IsEmpty());
  EXPECT_THAT(counters.planes_missing(), ElementsAre("dp0"));
  ASSERT_THAT(counters.problems(), SizeIs(2));
  EXPECT_THAT(counters.problems(0), HasSubstr("dp0: it runs a fabric of somebody else; its last"));
  // Nor are its sources and latencies those of the loaded fabric.
  const absl::Status listed =
      Call(*controller.traffic, &v1::Traffic::Stub::List, v1::ListTrafficRequest()).status();
  EXPECT_EQ(listed.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(listed.message()),
              HasSubstr("data plane dp0: it runs a fabric of somebody else"));
}

TEST_F(RecoveryTest, AnUnloadedDataPlaneIsIdleAndMayBeLoadedAgain) {
  auto agent = Agent("dp0");
  TestController controller(directory_.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  ASSERT_TRUE(Call(*controller.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  EXPECT_FALSE(agent->host().held(false).loaded);
  EXPECT_EQ(Plane(controller, "dp0").state(), v1::DataPlaneStatus::IDLE_STATE);
  EXPECT_FALSE(StatusOf(controller).loaded());
  EXPECT_TRUE(Load(controller, SmallTopology()).ok());
}

}  // namespace
}  // namespace bfly::control
