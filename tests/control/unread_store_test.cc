// SPDX-License-Identifier: Apache-2.0
// A store that cannot be read when the controller starts: it is read as soon as it can be, and what
// it says counts as if it had been read at once, but for what docs/survive.md says.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/control/resume_fixture.h"
#include "tests/control/schedules_fixture.h"

namespace bfly::control {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

class UnreadStoreTest : public ResumeTest {
 protected:
  ~UnreadStoreTest() override { sqlite3_close(other_); }
  // Another process holds the store from now until LetGo.
  void Hold() { Execute("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"); }
  void LetGo() { EXPECT_EQ(sqlite3_close(std::exchange(other_, nullptr)), SQLITE_OK); }
  void Execute(const char* sql) {
    if (other_ == nullptr) {
      ASSERT_EQ(sqlite3_open((directory_ / "intent.db").c_str(), &other_), SQLITE_OK);
      sqlite3_busy_timeout(other_, 5'000);
    }
    ASSERT_EQ(sqlite3_exec(other_, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(other_);
  }
  // Changes the state that is kept while nothing else has the store open.
  void EditState(const std::function<void(v1::AgentState&)>& edit) {
    Execute("BEGIN IMMEDIATE");
    sqlite3_stmt* read = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(other_, "SELECT bytes FROM state", -1, &read, nullptr), SQLITE_OK);
    ASSERT_EQ(sqlite3_step(read), SQLITE_ROW);
    v1::AgentState state;
    ASSERT_TRUE(state.ParseFromArray(sqlite3_column_blob(read, 0), sqlite3_column_bytes(read, 0)));
    sqlite3_finalize(read);
    edit(state);
    const std::string hex = absl::BytesToHexString(state.SerializeAsString());
    Execute(absl::StrCat("UPDATE state SET bytes = x'", hex, "'").c_str());
    Execute("COMMIT");
    LetGo();
  }
  // A fabric with objects 0 to 7, of which user 5 reads object 2, and with a circuit.
  void LoadObjects() {
    ASSERT_TRUE(Load(*controller_, RandomlyWired(16)).ok());
    v1::PlaceRequest place;
    place.set_count(8);
    ASSERT_TRUE(Call(*controller_->data_server, &v1::DataServer::Stub::Place, place).ok());
    v1::ObjectRequest read;
    read.set_user(5);
    read.set_object(2);
    const auto path = Call(*controller_->data_server, &v1::DataServer::Stub::Request, read);
    ASSERT_TRUE(path.ok()) << path.status();
    read_disk_ = path->path().output();
    ASSERT_TRUE(SetUpCircuit(*controller_, 9, OtherRow(1)).ok());
  }
  // A row other than that of the disk that is read; `i` is 1 to 15.
  Row OtherRow(Row i) const { return (read_disk_ + i) % 16; }
  absl::Status PlaceAt(uint64_t object, uint32_t disk) {
    v1::PlaceRequest request;
    request.add_objects()->set_object(object);
    request.mutable_objects(0)->add_disks(disk);
    return Call(*controller_->data_server, &v1::DataServer::Stub::Place, request).status();
  }
  v1::DataServerStatus Objects() {
    v1::DataServerStatusRequest request;
    request.set_reads(true);
    const auto status = Call(*controller_->data_server, &v1::DataServer::Stub::Status, request);
    EXPECT_TRUE(status.ok()) << status.status();
    return status.value_or(v1::DataServerStatus());
  }
  // Whether user 5, the only one that reads, reads object 2.
  bool ReadsObject() {
    const v1::DataServerStatus now = Objects();
    return now.paths_size() == 1 && now.paths(0).object() == 2;
  }
  // Returns the object that user 5 reads, as the data plane of stage 0 says.
  std::optional<uint64_t> HeldObject() {
    for (const HeldCircuit& circuit : agent_->host().held(true).circuits) {
      if (circuit.input == 5) return circuit.object;
    }
    return std::nullopt;
  }
  // The id of a circuit that is set up and released.
  uint64_t GivenId() {
    const auto circuit = SetUpCircuit(*controller_, 1, 1);
    EXPECT_TRUE(circuit.ok()) << circuit.status();
    const uint64_t id = circuit.ok() ? circuit->circuit().id() : 0;
    EXPECT_TRUE(ReleaseCircuit(*controller_, id).ok());
    return id;
  }
  bool IsKept() { return StatusOf(*controller_).keeping_problem().empty(); }

  sqlite3* other_ = nullptr;
  Row read_disk_ = 0;
};

TEST_F(UnreadStoreTest, ObjectsAreTakenOverLaterAndNoneIsPlacedMeanwhile) {
  LoadObjects();
  controller_.reset();
  Hold();
  Start();
  EXPECT_THAT(StatusOf(*controller_).store_problem(), HasSubstr("another process holds it"));
  EXPECT_EQ(PlaceAt(100, 3).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Objects().objects(), 0u);
  LetGo();
  EXPECT_TRUE(Eventually([&] { return Objects().objects() == 8 && ReadsObject(); }));
  EXPECT_EQ(StatusOf(*controller_).store_problem(), "");
  EXPECT_EQ(PlaceAt(3, 4).code(), absl::StatusCode::kAlreadyExists);
  ASSERT_TRUE(PlaceAt(100, 3).ok());
  ASSERT_TRUE(Eventually([&] { return IsKept(); }));
  // The next controller has all of it too.
  controller_.reset();
  Start();
  EXPECT_EQ(Objects().objects(), 9u);
  EXPECT_EQ(Objects().reads(), 1u);
  EXPECT_EQ(StatusOf(*controller_).circuits(), 2u);
}

// The data plane then gets its circuits from the controller, which does not know the object yet.
TEST_F(UnreadStoreTest, AReadKeepsItsObjectIfTheIngressBeginsAnewMeanwhile) {
  LoadObjects();
  controller_.reset();
  Hold();
  Start();
  ASSERT_EQ(StatusOf(*controller_).circuits(), 2u);
  agent_.reset();
  ASSERT_TRUE(Eventually([&] {
    return StatusOf(*controller_).data_planes(0).state() == v1::DataPlaneStatus::UNREACHABLE;
  }));
  LetGo();
  ASSERT_TRUE(Eventually([&] { return IsKept(); }));
  agent_ = Agent("dp0");
  EXPECT_TRUE(Eventually([&] { return ReadsObject(); }));
  EXPECT_TRUE(Eventually([&] { return HeldObject() == 2u; }));
  EXPECT_EQ(Objects().objects(), 8u);
  EXPECT_EQ(StatusOf(*controller_).store_problem(), "");
  EXPECT_EQ(PlaceAt(3, 4).code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(UnreadStoreTest, PlacementsDoNotWaitForTheStoreOneAfterTheOther) {
  LoadObjects();
  controller_.reset();
  Hold();
  Start();
  const auto begin = std::chrono::steady_clock::now();
  std::vector<absl::StatusCode> codes(20);
  {
    std::vector<std::jthread> calls;
    for (uint64_t i = 0; i < codes.size(); ++i) {
      calls.emplace_back([&, i] { codes[i] = PlaceAt(100 + i, 3).code(); });
    }
  }
  EXPECT_THAT(codes, Each(absl::StatusCode::kAborted));
  // A store that another process holds is waited for 1 s.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(UnreadStoreTest, AFabricThatEndsMeanwhileIsKeptWithItsObjects) {
  LoadObjects();
  controller_.reset();
  Hold();
  Start();
  EXPECT_TRUE(SetUpCircuit(*controller_, 10, OtherRow(2)).ok());
  EXPECT_FALSE(Unload().has_kept());
  LetGo();
  ASSERT_TRUE(Eventually([&] { return IsKept(); }));
  EXPECT_EQ(StatusOf(*controller_).kept().objects(), 8u);
  EXPECT_EQ(StatusOf(*controller_).kept().circuits(), 3u);
  const auto resumed = Resume(RandomlyWired(16));
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(Objects().objects(), 8u);
  EXPECT_TRUE(ReadsObject());
  EXPECT_EQ(StatusOf(*controller_).circuits(), 3u);
}

TEST_F(UnreadStoreTest, AFabricThatEndsMeanwhileWithNothingOnItIsNotShown) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  controller_.reset();
  Hold();
  Start();
  EXPECT_FALSE(Unload().has_kept());
  LetGo();
  ASSERT_TRUE(Eventually([&] { return IsKept(); }));
  EXPECT_FALSE(StatusOf(*controller_).has_kept());
}

TEST_F(UnreadStoreTest, IdsThatAnEarlierControllerGaveAreNotGivenAgain) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) last = GivenId();
  controller_.reset();
  Hold();
  Start();
  const uint64_t meanwhile = GivenId();
  EXPECT_GT(meanwhile, last);
  LetGo();
  ASSERT_TRUE(Eventually([&] { return IsKept(); }));
  EXPECT_GT(GivenId(), meanwhile);
}

TEST_F(UnreadStoreTest, AFabricThatIsLoadedMeanwhileDoesNotGiveThemEither) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  uint64_t last = 0;
  for (int i = 0; i < 5; ++i) last = GivenId();
  controller_.reset();
  agent_.reset();
  agent_ = Agent("dp0");
  Hold();
  Start();
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  const uint64_t meanwhile = GivenId();
  EXPECT_GT(meanwhile, last);
  LetGo();
  ASSERT_TRUE(Eventually([&] { return IsKept(); }));
  EXPECT_GT(GivenId(), meanwhile);
}

TEST_F(UnreadStoreTest, AScheduleThatHadNotBegunBeginsLater) {
  controller_.reset();
  agent_.reset();
  FakeSchedules held;
  const TestAgent agent(directory_.path(), "dp0", FakeBackend(board_, "dp0"), &held);
  {
    TestController first(directory_.path());
    ASSERT_TRUE(Load(first, SmallTopology()).ok());
    LoadedIntent& intent = first.controller().intent();
    const std::lock_guard change(intent.change_lock());
    intent.Change([](Intent& now) { now.schedule = RotorOf("7ms"); });
  }
  Hold();
  TestController next(directory_.path());
  ScheduleControl looks(next.controller().intent(),
                        {.caller = {}, .watch_interval = std::chrono::milliseconds(1)});
  // It compares the data plane with the intent first, and finds none.
  ASSERT_TRUE(Eventually(
      [&] { return looks.Repair(0, InAMinute(), {}).status().message() == "no schedule runs"; }));
  LetGo();
  EXPECT_TRUE(Eventually([&] { return held.Slot() == "7ms"; }));
}

TEST_F(UnreadStoreTest, WhatIsKeptIsShownLater) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  Unload();
  controller_.reset();
  Hold();
  Start();
  EXPECT_FALSE(IsKept());
  EXPECT_FALSE(StatusOf(*controller_).has_kept());
  LetGo();
  ASSERT_TRUE(Eventually([&] { return StatusOf(*controller_).has_kept(); }));
  ExpectSomething(StatusOf(*controller_).kept());
  EXPECT_TRUE(IsKept());
  EXPECT_FALSE(StatusOf(*controller_).loaded()) << "it was unloaded";
}

TEST_F(UnreadStoreTest, AControllerThatIsToResumeDoesSoLater) {
  ASSERT_TRUE(Load(*controller_, SmallTopology()).ok());
  SetUpSomething();
  controller_.reset();
  agent_.reset();
  Hold();
  const auto next = Resuming();
  EXPECT_FALSE(next->Status().loaded());
  EXPECT_THAT(next->Status().keeping_problem(), HasSubstr("another process holds it"));
  LetGo();
  ASSERT_TRUE(Eventually([&] { return next->Status().loaded(); }));
  EXPECT_EQ(next->Status().circuits(), 3u);
  agent_ = Agent("dp0");
  EXPECT_TRUE(Eventually([&] { return agent_->host().held(true).circuits.size() == 3; }));
  EXPECT_TRUE(Eventually([&] { return next->Status().keeping_problem().empty(); }));
}

// The store can be read, and what it has of this fabric contradicts itself.
TEST_F(UnreadStoreTest, AnIngressIsOutOfStepWhileWhatIsKeptOfItsFabricDoesNotFit) {
  LoadObjects();
  const std::vector<uint64_t> ids = Ids();
  ASSERT_THAT(ids, SizeIs(2));
  const v1::Topology topology = agent_->host().held(true).topology;
  controller_.reset();
  agent_.reset();
  Execute("INSERT INTO placements (record) SELECT record FROM placements");
  LetGo();
  // The controller before loaded it again and was killed before it pushed circuits.
  agent_ = Agent("dp0");
  ASSERT_TRUE(agent_->host().Load(topology).ok());
  Start();
  EXPECT_THAT(StatusOf(*controller_).data_planes(0).problem(),
              AllOf(HasSubstr("does not fit"), HasSubstr("bfly up FILE --replace")));
  EXPECT_THAT(agent_->host().held(true).circuits, SizeIs(0));
  Execute("DELETE FROM placements WHERE id = (SELECT MAX(id) FROM placements)");
  LetGo();
  ASSERT_TRUE(Eventually([&] { return agent_->host().held(true).circuits.size() == 2; }));
  EXPECT_EQ(Ids(), ids);
  EXPECT_EQ(Objects().objects(), 8u);
}

// A topology that an earlier bfly took, and this one refuses, does not fit either.
TEST_F(UnreadStoreTest, AnIngressSaysWhatToDoIfWhatIsKeptOfItsFabricIsNotValid) {
  LoadObjects();
  const v1::Topology topology = agent_->host().held(true).topology;
  controller_.reset();
  agent_.reset();
  EditState([](v1::AgentState& state) {
    v1::HostPort* port = state.mutable_topology()->add_ports();
    port->set_name("h99");
    port->set_device("net_null_h99");
    port->set_rows("99");
  });
  agent_ = Agent("dp0");
  ASSERT_TRUE(agent_->host().Load(topology).ok());
  Start();
  EXPECT_THAT(StatusOf(*controller_).data_planes(0).problem(), HasSubstr("bfly up FILE --replace"));
}

}  // namespace
}  // namespace bfly::control
