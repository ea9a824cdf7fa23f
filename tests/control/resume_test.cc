// SPDX-License-Identifier: Apache-2.0
// What is kept of a fabric when it is unloaded, or when its controller ends, and what a Load with
// `resume` brings back.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/control/resume_fixture.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST_F(ResumeTest, WhatIsUnloadedIsKeptAndTheDataPlaneGetsAllOfItAgain) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  const std::vector<uint64_t> ids = Ids();
  ASSERT_THAT(ids, SizeIs(3));
  const FabricHost::Held before = agent_->host().held(true);
  ExpectSomething(Unload().kept());
  ExpectSomething(StatusOf(*controller_).kept());
  EXPECT_FALSE(agent_->host().held(true).loaded);
  // A controller that knows nothing of the one before.
  controller_.reset();
  agent_.reset();
  agent_ = Agent("dp0");
  Start();
  ExpectSomething(StatusOf(*controller_).kept());
  const auto resumed = Resume(SmallTopology());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  ExpectSomething(resumed->resumed());
  EXPECT_FALSE(resumed->has_set_aside());
  EXPECT_FALSE(resumed->status().has_kept());
  EXPECT_EQ(Ids(), ids);
  const FabricHost::Held after = agent_->host().held(true);
  EXPECT_EQ(after.down_links, before.down_links);
  ASSERT_EQ(after.circuits.size(), before.circuits.size());
  for (size_t i = 0; i < after.circuits.size(); ++i) {
    EXPECT_EQ(after.circuits[i].tag, before.circuits[i].tag);
    EXPECT_EQ(after.circuits[i].id, before.circuits[i].id);
  }
  ASSERT_EQ(after.sources.size(), 1u);
  EXPECT_EQ(after.sources[0].SerializeAsString(), before.sources[0].SerializeAsString());
  ASSERT_EQ(after.link_changes.size(), 1);
  EXPECT_EQ(after.link_changes[0].SerializeAsString(), before.link_changes[0].SerializeAsString());
  ExpectCountsEqualRecount(*controller_, agent_.get());
  // Nothing of it is there twice, and what is released is kept no longer.
  ASSERT_TRUE(ReleaseCircuit(*controller_, ids[1]).ok());
  EXPECT_EQ(Unload().kept().circuits(), 2u);
  ASSERT_TRUE(Resume(SmallTopology()).ok());
  EXPECT_THAT(Ids(), ElementsAre(ids[0], ids[2]));
}

TEST_F(ResumeTest, WithoutResumeItIsSetAsideAndOnlyOnce) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  Unload();
  v1::LoadRequest anew;
  *anew.mutable_topology() = SmallTopology(/*split=*/false, 8);
  const auto loaded = Call(*controller_->fabric, &v1::Fabric::Stub::Load, anew);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->set_aside().circuits(), 3u);
  EXPECT_EQ(loaded->set_aside().path(), directory_.path() + "/intent.db.before");
  EXPECT_THAT(List(*controller_), SizeIs(0));
  EXPECT_FALSE(Unload().has_kept()) << "nothing was set up";
  const auto again = Call(*controller_->fabric, &v1::Fabric::Stub::Load, anew);
  EXPECT_FALSE(again->has_set_aside());
  EXPECT_TRUE(std::filesystem::exists(directory_.path() + "/intent.db.before"));
  // A fabric that replaces another sets the other's intent aside.
  ASSERT_TRUE(SetUpCircuit(*controller_, 4, 4).ok());
  anew.set_replace(true);
  const auto replaced = Call(*controller_->fabric, &v1::Fabric::Stub::Load, anew);
  ASSERT_TRUE(replaced.ok()) << replaced.status();
  EXPECT_EQ(replaced->set_aside().circuits(), 1u);
}

TEST_F(ResumeTest, AnotherFabricIsRefusedAndNothingIsLost) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  Unload();
  const auto other = Resume(SmallTopology(/*split=*/false, 8));
  EXPECT_EQ(other.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(other.status()), ElementsAre("resume"));
  EXPECT_THAT(std::string(other.status().message()),
              AllOf(HasSubstr("of 8 rows"), HasSubstr("of 16 rows"), HasSubstr("intent.db")));
  v1::Topology reseeded = SmallTopology();
  reseeded.mutable_network()->set_seed(8);
  EXPECT_THAT(std::string(Resume(reseeded).status().message()), HasSubstr("other settings"));
  const auto both = Resume(SmallTopology(), /*replace=*/true);
  EXPECT_EQ(both.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(StatusOf(*controller_).loaded());
  ExpectSomething(StatusOf(*controller_).kept());
  const auto resumed = Resume(SmallTopology());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_THAT(List(*controller_), SizeIs(3));
}

TEST_F(ResumeTest, NothingKeptIsNoError) {
  const auto resumed = Resume(SmallTopology());
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_FALSE(resumed->has_resumed());
  EXPECT_TRUE(StatusOf(*controller_).loaded());
}

TEST_F(ResumeTest, WhatCannotBeKeptIsSaid) {
  controller_.reset();
  // A directory stands in the file's place.
  std::filesystem::create_directories(directory_.path() + "/intent.db/in");
  Start();
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  ASSERT_TRUE(SetUpCircuit(*controller_, 3, 5).ok()) << "set-ups do not wait for the disk";
  EXPECT_THAT(StatusOf(*controller_).keeping_problem(), HasSubstr("intent.db"));
  const v1::UnloadResponse last = Unload();
  EXPECT_FALSE(last.has_kept());
  EXPECT_THAT(last.keeping_problem(), HasSubstr("intent.db"));
}

TEST_F(ResumeTest, WhatTheDiskDidNotTakeAtTheEndIsKeptOnceItDoes) {
  controller_.reset();
  const std::string in_the_way = directory_.path() + "/intent.db/in";
  std::filesystem::create_directories(in_the_way);
  Start();
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  EXPECT_FALSE(Unload().has_kept());
  std::filesystem::remove_all(directory_.path() + "/intent.db");
  ASSERT_TRUE(Eventually([&] { return StatusOf(*controller_).keeping_problem().empty(); }));
  ExpectSomething(StatusOf(*controller_).kept());
  controller_.reset();
  EXPECT_FALSE(Resuming()->Status().loaded()) << "it was unloaded";
  Start();
  ASSERT_TRUE(Resume(SmallTopology()).ok());
  EXPECT_THAT(List(*controller_), SizeIs(3));
}

TEST_F(ResumeTest, ATopologyWhoseFramesAreTooShortForASourceIsRefused) {
  v1::Topology jumbo = SmallTopology();
  jumbo.set_max_frame_bytes(9'018);
  ASSERT_TRUE(Load(*controller_, jumbo).ok());
  v1::StartTrafficRequest traffic;
  traffic.add_sources()->set_bytes(9'000);
  ASSERT_TRUE(Call(*controller_->traffic, &v1::Traffic::Stub::Start, traffic).ok());
  Unload();
  const absl::Status refused = Resume(SmallTopology()).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(refused), ElementsAre("resume"));
  EXPECT_THAT(std::string(refused.message()), AllOf(HasSubstr("9000"), HasSubstr("1518")));
  EXPECT_FALSE(StatusOf(*controller_).loaded());
  EXPECT_EQ(StatusOf(*controller_).kept().sources(), 1u);
  ASSERT_TRUE(Resume(jumbo).ok());
  EXPECT_TRUE(Eventually([&] { return agent_->host().held(true).sources.size() == 1; }));
}

// The controller ends while the fabric is loaded, and the machine with it.
TEST_F(ResumeTest, AControllerThatIsToResumeLoadsWhatTheLastOneLeftLoaded) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  const std::vector<uint64_t> ids = Ids();
  controller_.reset();
  agent_.reset();
  auto next = Resuming();
  EXPECT_TRUE(next->Status().loaded()) << "before any data plane answers";
  EXPECT_EQ(next->Status().circuits(), 3u);
  agent_ = Agent("dp0");
  EXPECT_TRUE(Eventually([&] { return agent_->host().held(true).circuits.size() == 3; }));
  EXPECT_TRUE(Eventually([&] { return agent_->host().held(true).sources.size() == 1; }));
  const FabricHost::Held held = agent_->host().held(true);
  EXPECT_EQ(held.circuits[0].id, ids[0]);
  EXPECT_EQ(held.down_links.size(), 1u);
  EXPECT_EQ(held.link_changes.size(), 1);
  // A fabric that was unloaded in order is not loaded by itself.
  ASSERT_TRUE(next->loader().Unload(0, InAMinute()).ok());
  next.reset();
  next = Resuming();
  EXPECT_FALSE(next->Status().loaded());
  EXPECT_EQ(next->Status().kept().circuits(), 3u);
}

TEST_F(ResumeTest, AFabricThatEndedWhileItsDataPlaneWasAwayIsNotLoadedByItself) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  const std::vector<uint64_t> ids = Ids();
  controller_.reset();
  agent_.reset();
  auto next = Resuming();
  ASSERT_TRUE(next->Status().loaded());
  ASSERT_TRUE(next->loader().Unload(0, InAMinute()).ok());
  ExpectSomething(next->Status().kept());
  next.reset();
  next = Resuming();
  EXPECT_FALSE(next->Status().loaded());
  ExpectSomething(next->Status().kept());
  next.reset();
  agent_ = Agent("dp0");
  Start();
  ASSERT_TRUE(Resume(SmallTopology()).ok());
  EXPECT_EQ(Ids(), ids);
}

// What data planes hold is newer than what is kept: they ran on.
TEST_F(ResumeTest, DataPlanesThatRanOnAreRight) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  const std::vector<uint64_t> ids = Ids();
  controller_.reset();
  ASSERT_TRUE(agent_->host().UpdateCircuits({}, {2}, 0).ok());
  Start();
  EXPECT_THAT(Ids(), ElementsAre(ids[0], ids[2]));
  EXPECT_EQ(Unload().kept().circuits(), 2u) << "the store follows";
}

TEST_F(ResumeTest, ADataPlaneThatRanOnIsRightAlsoIfItAnswersAfterTheControllerHasResumed) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  const std::vector<uint64_t> ids = Ids();
  controller_.reset();
  ASSERT_TRUE(agent_->host().UpdateCircuits({}, {2}, 0).ok());
  ASSERT_TRUE(agent_->host().SetSources({}, 0).ok());
  const std::string socket = SocketPath(SocketAddress(directory_.path(), "dp0"));
  std::filesystem::rename(socket, socket + ".aside");
  auto next = Resuming();
  EXPECT_EQ(next->Status().circuits(), 3u) << "what is kept, until the data plane answers";
  std::filesystem::rename(socket + ".aside", socket);
  ASSERT_TRUE(Eventually([&] { return next->Status().circuits() == 2; }));
  std::vector<uint64_t> now;
  ASSERT_TRUE(next->Read([&now](const FabricState& state) {
                    for (const StandingCircuit& circuit : state.circuits()) {
                      now.push_back(circuit.id);
                    }
                  })
                  .ok());
  EXPECT_THAT(now, ElementsAre(ids[0], ids[2]));
  EXPECT_THAT(agent_->host().held(true).circuits, SizeIs(2));
  EXPECT_THAT(agent_->host().held(true).sources, SizeIs(0));
  // The store follows.
  next.reset();
  agent_.reset();
  EXPECT_EQ(Resuming()->Status().circuits(), 2u);
}

// A data plane that could not be given its circuits does not count as whole.
TEST_F(ResumeTest, CircuitsThatCouldNotBePushedAreThereAfterARestart) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  const std::vector<uint64_t> ids = Ids();
  Unload();
  board_.RefuseInputs({1, 2, 3});
  ASSERT_TRUE(Resume(SmallTopology()).ok());
  controller_.reset();
  EXPECT_THAT(agent_->host().held(true).circuits, SizeIs(0));
  board_.RefuseInputs({});
  Start();
  EXPECT_EQ(Ids(), ids);
  EXPECT_THAT(agent_->host().held(true).circuits, SizeIs(3));
}

}  // namespace
}  // namespace bfly::control
