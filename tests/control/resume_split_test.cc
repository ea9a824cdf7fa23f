// SPDX-License-Identifier: Apache-2.0
// A fabric of two data planes, of which one ends together with the controller: what ran on and what
// is kept make it whole again.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <filesystem>

#include "tests/control/resume_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Data plane dp0 runs stages 0 to 3, and dp1 runs stages 4 to 7.
class SplitFabricTest : public ResumeTest {
 protected:
  SplitFabricTest() {
    EXPECT_TRUE(Load(*controller_, SmallTopology(/*split=*/true)).ok());
    SetUpSomething();
    v1::SetLinkStateRequest link;
    link.set_stage(5);
    link.set_row(3);
    EXPECT_TRUE(Call(*controller_->fabric, &v1::Fabric::Stub::SetLinkState, link).ok());
    down_ = egress_->host().held(true).down_links;
    EXPECT_THAT(down_, SizeIs(1));
    ids_ = Ids();
  }
  void ExpectTheLinkIsDown() {
    ASSERT_TRUE(Eventually([&] { return egress_->host().held(true).loaded; }));
    EXPECT_EQ(egress_->host().held(true).down_links, down_);
    EXPECT_EQ(Ids(), ids_);
    EXPECT_EQ(Unload().kept().down_links(), 2u) << "one at each data plane";
  }

  std::unique_ptr<TestAgent> egress_ = Agent("dp1");
  decltype(FabricHost::Held::down_links) down_;
  std::vector<uint64_t> ids_;
};

TEST_F(SplitFabricTest, ALinkThatWasDownAtALostDataPlaneStaysDown) {
  controller_.reset();
  egress_.reset();
  egress_ = Agent("dp1");
  Start();
  ExpectTheLinkIsDown();
}

TEST_F(SplitFabricTest, ALinkThatWasDownAtADataPlaneThatComesLaterStaysDown) {
  controller_.reset();
  egress_.reset();
  Start();
  EXPECT_EQ(Ids(), ids_);
  egress_ = Agent("dp1");
  ExpectTheLinkIsDown();
}

// Links that were brought up at a data plane that ran on are up, whatever is kept.
TEST_F(SplitFabricTest, ALinkThatIsUpAtADataPlaneThatRanOnStaysUp) {
  controller_.reset();
  ASSERT_TRUE(egress_->host().SetFault(LinkId{5, 3, 0}, /*down=*/false).ok());
  Start();
  EXPECT_THAT(egress_->host().held(true).down_links, SizeIs(0));
  EXPECT_EQ(Unload().kept().down_links(), 1u);
}

// What the sender gave the trunk before went to the process that is gone.
TEST_F(SplitFabricTest, TheTrunkOfADataPlaneThatComesBackJoinsASenderThatRuns) {
  const auto joins = [&] {
    bool joined = false;
    egress_->host().Read([&joined](const dataplane::Fabric& fabric) {
      joined = fabric.config().trunks.at(0).joins;
    });
    return joined;
  };
  EXPECT_FALSE(joins()) << "both were loaded together";
  egress_.reset();
  egress_ = Agent("dp1");
  ASSERT_TRUE(Eventually([&] { return egress_->host().held(false).loaded; }));
  EXPECT_TRUE(joins());
}

TEST_F(SplitFabricTest, CircuitsThatAFailedReplaceCouldNotPushAgainAreThereAfterARestart) {
  board_.RefuseInputs({1, 2, 3});
  {
    const std::lock_guard lock(board_.mutex);
    board_.refused_planes = {"dp1"};
  }
  v1::Topology other = SmallTopology(/*split=*/true);
  other.set_name("other");
  EXPECT_FALSE(Load(*controller_, other, /*replace=*/true).ok());
  ASSERT_TRUE(Eventually([&] { return agent_->host().held(true).loaded; }));
  controller_.reset();
  EXPECT_THAT(agent_->host().held(true).circuits, SizeIs(0));
  {
    const std::lock_guard lock(board_.mutex);
    board_.refused_planes.clear();
  }
  board_.RefuseInputs({});
  Start();
  EXPECT_EQ(Ids(), ids_);
  EXPECT_THAT(agent_->host().held(true).circuits, SizeIs(3));
}

// The ingress is killed together with the controller, and another data plane runs on.
class LostIngressTest : public ResumeTest {
 protected:
  LostIngressTest() {
    egress_ = Agent("dp1");
    EXPECT_TRUE(Load(*controller_, SmallTopology(/*split=*/true)).ok());
    SetUpSomething();
    ids_ = Ids();
    loaded_ = agent_->host().held(true);
    controller_.reset();
    agent_.reset();
  }
  void ExpectEverything() {
    ASSERT_TRUE(Eventually([&] { return StatusOf(*controller_).circuits() == 3; }));
    EXPECT_EQ(Ids(), ids_);
    EXPECT_TRUE(Eventually([&] { return agent_->host().held(true).sources.size() == 1; }));
    const FabricHost::Held held = agent_->host().held(true);
    ASSERT_EQ(held.circuits.size(), loaded_.circuits.size());
    for (size_t i = 0; i < held.circuits.size(); ++i) {
      EXPECT_EQ(held.circuits[i].tag, loaded_.circuits[i].tag);
      EXPECT_EQ(held.circuits[i].id, loaded_.circuits[i].id);
    }
    EXPECT_EQ(held.down_links, loaded_.down_links);
    EXPECT_EQ(held.link_changes.size(), 1);
    EXPECT_EQ(egress_->host().held(true).link_changes.size(), 1);
    // The next controller finds an ingress that has everything, and believes it.
    controller_.reset();
    ASSERT_TRUE(agent_->host().UpdateCircuits({}, {2}, 0).ok());
    Start();
    EXPECT_THAT(Ids(), ElementsAre(ids_[0], ids_[2]));
    EXPECT_EQ(Unload().kept().circuits(), 2u);
  }

  std::unique_ptr<TestAgent> egress_;
  std::vector<uint64_t> ids_;
  FabricHost::Held loaded_;
};

TEST_F(LostIngressTest, AnEmptyIngressGetsWhatIsKept) {
  agent_ = Agent("dp0");
  Start();
  ExpectEverything();
}

TEST_F(LostIngressTest, AnIngressThatComesLaterGetsWhatIsKept) {
  Start();
  EXPECT_TRUE(StatusOf(*controller_).loaded());
  EXPECT_THAT(Ids(), SizeIs(0)) << "nobody knows yet";
  agent_ = Agent("dp0");
  ExpectEverything();
}

// The controller before was killed after it had loaded the ingress and before it had pushed
// circuits.
TEST_F(LostIngressTest, AnIngressThatWasOnlyLoadedGetsWhatIsKept) {
  agent_ = Agent("dp0");
  ASSERT_TRUE(agent_->host().Load(loaded_.topology).ok());
  Start();
  ExpectEverything();
}

TEST_F(LostIngressTest, AStoreThatCannotBeReadForAMomentIsNotTakenForAnEmptyOne) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((directory_.path() + "/intent.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE", nullptr,
                         nullptr, nullptr),
            SQLITE_OK);
  agent_ = Agent("dp0");
  Start();
  EXPECT_FALSE(agent_->host().held(true).loaded);
  EXPECT_THAT(StatusOf(*controller_).data_planes(0).problem(),
              HasSubstr("another process holds it"));
  EXPECT_EQ(sqlite3_close(other), SQLITE_OK);
  ExpectEverything();
}

// Nobody but the store knows the circuits and the sources then.
TEST_F(LostIngressTest, AReplaceBeforeTheIngressIsHeardSetsAsideWhatIsKept) {
  Start();
  ASSERT_THAT(Ids(), SizeIs(0)) << "nobody knows yet";
  v1::LoadRequest request;
  *request.mutable_topology() = SmallTopology();
  request.mutable_topology()->mutable_data_planes(0)->set_name("dp1");
  request.mutable_topology()->mutable_placement(0)->set_data_plane("dp1");
  request.set_replace(true);
  const auto loaded = Call(*controller_->fabric, &v1::Fabric::Stub::Load, request);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  const std::string store = directory_ / "intent.db";
  EXPECT_EQ(loaded->set_aside().path(), store + ".before");
  EXPECT_EQ(loaded->set_aside().circuits(), 3u);
  EXPECT_EQ(loaded->set_aside().sources(), 1u);
  // It was ended, so a controller does not load it by itself.
  Unload();
  controller_.reset();
  std::filesystem::rename(store + ".before", store);
  EXPECT_FALSE(Resuming()->Status().loaded());
  agent_ = Agent("dp0");
  Start();
  const auto resumed = Resume(SmallTopology(/*split=*/true));
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(Ids(), ids_);
}

// The same name and network, and links that differ: what is kept would not be what runs.
TEST_F(LostIngressTest, WhatIsKeptOfAnotherTopologyIsNotTaken) {
  const std::string store = directory_.path() + "/intent.db";
  TemporaryFolder elsewhere;
  {
    FakeBoard other_board;
    TestAgent ingress(elsewhere.path(), "dp0", FakeBackend(other_board, "dp0"));
    TestAgent egress(elsewhere.path(), "dp1", FakeBackend(other_board, "dp1"));
    TestController other(elsewhere.path());
    v1::Topology topology = SmallTopology(/*split=*/true);
    topology.mutable_links()->set_delay("1us");
    ASSERT_TRUE(Load(other, topology).ok());
    ASSERT_TRUE(SetUpCircuit(other, 4, 4).ok());
  }
  std::filesystem::remove(store);
  std::filesystem::copy_file(elsewhere.path() + "/intent.db", store);
  agent_ = Agent("dp0");
  Start();
  EXPECT_TRUE(Eventually([&] { return agent_->host().held(true).loaded; }));
  EXPECT_EQ(agent_->host().held(true).topology.links().delay(), loaded_.topology.links().delay());
  EXPECT_THAT(Ids(), SizeIs(0));
}

}  // namespace
}  // namespace bfly::control
