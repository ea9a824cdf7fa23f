// SPDX-License-Identifier: Apache-2.0
// One controller owns a fabric. Data planes refuse a second controller and name their owner.
#include <gmock/gmock.h>

#include "control/agent/ownership.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

v1::AgentOwner Owner(const std::string& id) {
  v1::AgentOwner owner;
  owner.set_id(id);
  owner.set_name("controller " + id);
  return owner;
}

class OwnershipTest : public testing::Test {
 protected:
  std::chrono::steady_clock::time_point now_{std::chrono::hours(1)};
  Ownership ownership_{[this] { return now_; }};
};

TEST_F(OwnershipTest, WithoutAnOwnerEverybodyMayChangeTheDataPlane) {
  EXPECT_TRUE(ownership_.Check("").ok());
  EXPECT_TRUE(ownership_.Check("a").ok());
  EXPECT_EQ(ownership_.owner().id(), "");
}

TEST_F(OwnershipTest, TheFirstThatClaimsOwnsItAndOthersAreToldWho) {
  ownership_.Claim(Owner("a"));
  ownership_.Claim(Owner("b"));
  EXPECT_EQ(ownership_.owner().id(), "a");
  EXPECT_TRUE(ownership_.Check("a").ok());
  for (const char* other : {"b", ""}) {
    const absl::Status refused = ownership_.Check(other);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(refused.message()), HasSubstr("another controller, controller a"));
  }
}

TEST_F(OwnershipTest, AnOwnerThatIsHeardKeepsItAndASilentOneLosesItToTheNextThatClaims) {
  ownership_.Claim(Owner("a"));
  for (int i = 0; i < 5; ++i) {
    now_ += Ownership::kPatience - std::chrono::milliseconds(1);
    ownership_.Claim(Owner("b"));
    EXPECT_EQ(ownership_.owner().id(), "a");
    if (i % 2 == 0) {
      ownership_.Renew("a");
    } else {
      EXPECT_TRUE(ownership_.Check("a").ok());
    }
  }
  now_ += Ownership::kPatience;
  EXPECT_EQ(ownership_.owner().id(), "");
  ownership_.Claim(Owner("b"));
  EXPECT_EQ(ownership_.owner().id(), "b");
  // The first controller wakes up too late.
  ownership_.Renew("a");
  EXPECT_FALSE(ownership_.Check("a").ok());
}

TEST_F(OwnershipTest, ASilentOwnerThatNobodyReplacedGoesOn) {
  ownership_.Claim(Owner("a"));
  now_ += std::chrono::hours(1);
  ownership_.Renew("a");
  EXPECT_EQ(ownership_.owner().id(), "a");
}

TEST_F(OwnershipTest, OnlyTheOwnerGivesItUp) {
  ownership_.Claim(Owner("a"));
  ownership_.Release("b");
  ownership_.Release("");
  EXPECT_EQ(ownership_.owner().id(), "a");
  ownership_.Release("a");
  ownership_.Claim(Owner("b"));
  EXPECT_EQ(ownership_.owner().id(), "b");
}

class TwoControllersTest : public testing::Test {
 protected:
  TwoControllersTest() : agent_(mine_.path(), "dp0", FakeBackend(board_, "dp0")) {}
  std::string agent_address() const { return SocketAddress(mine_.path(), "dp0"); }
  // The changes that the data plane got.
  std::vector<std::string> Told() {
    std::vector<std::string> told;
    for (const std::string& line : board_.TakeLog()) {
      if (line.rfind("read", 0) != 0) told.push_back(line);
    }
    return told;
  }
  // The address of the fabric as a controller of another directory writes it.
  v1::Topology TopologyThere() {
    v1::Topology topology = SmallTopology();
    topology.mutable_data_planes(0)->set_address(agent_address());
    return topology;
  }

  FakeBoard board_;
  TemporaryFolder mine_;
  TemporaryFolder others_;
  TestAgent agent_;
};

TEST_F(TwoControllersTest, TheSecondDoesNotTakeOverWhatTheFirstRuns) {
  TestController first(mine_.path());
  ASSERT_TRUE(Load(first, SmallTopology()).ok());
  ASSERT_TRUE(SetUpCircuit(first, 3, 5).ok());
  Told();
  TestController second(others_.path(), 20, PollOnlyWhenAsked(), {agent_address()});
  EXPECT_FALSE(StatusOf(second).loaded());
  for (const bool replace : {false, true}) {
    const absl::Status refused = Load(second, TopologyThere(), replace);
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr("data plane dp0: belongs to another controller, process"));
  }
  EXPECT_THAT(Told(), IsEmpty());
  EXPECT_TRUE(SetUpCircuit(first, 4, 6).ok());
  EXPECT_EQ(List(first).size(), 2u);
  ExpectCountsEqualRecount(first, &agent_);
}

TEST_F(TwoControllersTest, WhatTheFirstUnloadedOrLeftTheSecondMayHave) {
  {
    TestController first(mine_.path());
    ASSERT_TRUE(Load(first, SmallTopology()).ok());
    ASSERT_TRUE(Call(*first.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
    TestController second(others_.path());
    EXPECT_TRUE(Load(second, TopologyThere()).ok());
    EXPECT_EQ(Load(first, SmallTopology(), /*replace=*/true).code(),
              absl::StatusCode::kFailedPrecondition);
  }
  TestController third(others_.path(), 20, PollOnlyWhenAsked(), {agent_address()});
  EXPECT_TRUE(StatusOf(third).loaded());
  EXPECT_TRUE(SetUpCircuit(third, 1, 2).ok());
}

TEST_F(TwoControllersTest, AFabricThatSomebodyElseLoadedAfterTheUnloadIsNeverUnloaded) {
  TestController first(mine_.path());
  ASSERT_TRUE(Load(first, SmallTopology()).ok());
  ASSERT_TRUE(Call(*first.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
  // As a process that loads its topology itself: no controller owns the fabric.
  v1::Topology other = SmallTopology(false, 4);
  other.set_name("other");
  ASSERT_TRUE(agent_.host().Load(other).ok());
  DataPlane& plane = *first.controller().intent().planes().at(0);
  const auto was_compared = [&] {
    const DataPlane::Known known = plane.known();
    return known.in_step && known.revision == agent_.host().held(false).revision;
  };
  ASSERT_TRUE(Eventually(was_compared));
  // As after looks that were late: the data plane is compared again, and again.
  for (int i = 0; i < 2; ++i) {
    plane.Learn([](DataPlane::Known& known) { known.in_step = false; });
    ASSERT_TRUE(Eventually(was_compared));
  }
  EXPECT_TRUE(agent_.host().held(true).loaded);
  EXPECT_EQ(agent_.host().held(true).topology.name(), "other");
}

TEST_F(TwoControllersTest, AFabricWhoseControllerWasKilledIsTakenOverOnceItCountsAsSilent) {
  {
    TestController first(mine_.path());
    ASSERT_TRUE(Load(first, TopologyThere()).ok());
  }
  Ownership& ownership = agent_.host().ownership();
  ownership.Claim(Owner("dead"));
  TestController next(others_.path(), 20, PollOnlyWhenAsked(), {agent_address()});
  EXPECT_FALSE(StatusOf(next).loaded());
  EXPECT_TRUE(next.Logged("belongs to another controller, controller dead"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(StatusOf(next).loaded());
  ownership.Release("dead");  // as after Ownership::kPatience
  EXPECT_TRUE(Eventually([&] { return StatusOf(next).loaded(); }));
  EXPECT_TRUE(Eventually([&] { return SetUpCircuit(next, 1, 2).ok(); }));
}

TEST_F(TwoControllersTest, ADataPlaneThatWasLostToAnotherIsNotFoughtOver) {
  TestController first(mine_.path());
  ASSERT_TRUE(Load(first, SmallTopology()).ok());
  ASSERT_TRUE(SetUpCircuit(first, 3, 5).ok());
  // The thief takes the data plane as if the first controller had been silent long enough.
  Ownership& ownership = agent_.host().ownership();
  ownership.Release(ownership.owner().id());
  ownership.Claim(Owner("thief"));
  ASSERT_TRUE(agent_.host().UpdateCircuits({{.input = 9, .tag = 9, .id = 77}}, {}, 0).ok());
  Told();
  ASSERT_TRUE(Eventually([&] {
    return StatusOf(first).data_planes(0).problem().find("controller thief") != std::string::npos;
  }));
  const absl::Status refused = SetUpCircuit(first, 4, 6).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("controller thief"));
  EXPECT_THAT(Told(), IsEmpty());
  // Once the thief gives it up, the first controller brings it into step.
  ownership.Release("thief");
  EXPECT_TRUE(Eventually([&] { return SetUpCircuit(first, 4, 6).ok(); }));
  ExpectCountsEqualRecount(first, &agent_);
}

}  // namespace
}  // namespace bfly::control
