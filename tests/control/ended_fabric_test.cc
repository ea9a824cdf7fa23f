// SPDX-License-Identifier: Apache-2.0
// What the store of a controller that runs on holds once a fabric has ended, and what follows if
// that is written late, or if somebody puts another file in its place.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EndedFabricTest : public testing::Test {
 protected:
  absl::StatusOr<v1::LoadResponse> Load(bool resume) {
    v1::LoadRequest request;
    *request.mutable_topology() = SmallTopology();
    request.set_resume(resume);
    return Call(*controller_->fabric, &v1::Fabric::Stub::Load, request);
  }
  v1::UnloadResponse Unload() {
    const auto last = Call(*controller_->fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest());
    EXPECT_TRUE(last.ok()) << last.status();
    return last.value_or(v1::UnloadResponse());
  }
  void LoadSetUpUnload(const std::vector<Row>& rows) {
    ASSERT_TRUE(Load(/*resume=*/false).ok());
    for (const Row row : rows) ASSERT_TRUE(SetUpCircuit(*controller_, row, row).ok());
    Unload();
  }
  // Inputs with a circuit.
  std::vector<Row> Inputs() {
    std::vector<Row> inputs;
    for (const v1::Circuit& circuit : List(*controller_)) inputs.push_back(circuit.input());
    return inputs;
  }
  absl::Status SetLink(bool up) {
    v1::SetLinkStateRequest request;
    request.set_up(up);
    return Call(*controller_->fabric, &v1::Fabric::Stub::SetLinkState, request).status();
  }
  // Circuits in the file; -1: it cannot be read.
  int KeptCircuits() const {
    sqlite3* file = nullptr;
    sqlite3_stmt* count = nullptr;
    int circuits = -1;
    if (sqlite3_open_v2(path_.c_str(), &file, SQLITE_OPEN_READONLY, nullptr) == SQLITE_OK &&
        sqlite3_prepare_v2(file, "SELECT count(*) FROM circuits", -1, &count, nullptr) ==
            SQLITE_OK &&
        sqlite3_step(count) == SQLITE_ROW) {
      circuits = sqlite3_column_int(count, 0);
    }
    sqlite3_finalize(count);
    sqlite3_close(file);
    return circuits;
  }
  // Puts a file of another controller in, whose fabric has a circuit at row 2. Returns the last id
  // that was given there, to a circuit that was released.
  uint64_t PutInOthers() {
    TemporaryFolder elsewhere;
    uint64_t last = 0;
    {
      FakeBoard board;
      TestAgent agent(elsewhere.path(), "dp0", FakeBackend(board, "dp0"));
      TestController other(elsewhere.path());
      EXPECT_TRUE(control::Load(other, SmallTopology()).ok());
      EXPECT_TRUE(SetUpCircuit(other, 2, 2).ok());
      for (int i = 0; i < 5; ++i) {
        const auto circuit = SetUpCircuit(other, 1, 1);
        EXPECT_TRUE(circuit.ok()) << circuit.status();
        last = circuit.ok() ? circuit->circuit().id() : 0;
        EXPECT_TRUE(ReleaseCircuit(other, last).ok());
      }
      EXPECT_TRUE(Call(*other.fabric, &v1::Fabric::Stub::Unload, v1::UnloadRequest()).ok());
    }
    std::filesystem::copy_file(elsewhere / "intent.db", path_);
    return last;
  }
  bool HasLog() const { return std::filesystem::exists(path_ + "-wal"); }

  FakeBoard board_;
  TemporaryFolder directory_;
  const std::string path_ = directory_ / "intent.db";
  TestAgent agent_{directory_.path(), "dp0", FakeBackend(board_, "dp0")};
  std::unique_ptr<TestController> controller_ = std::make_unique<TestController>(directory_.path());
};

TEST_F(EndedFabricTest, WhatWasSetAsideIsPutBackWhileTheControllerRuns) {
  LoadSetUpUnload({1, 2, 3});
  LoadSetUpUnload({4, 5});
  EXPECT_FALSE(HasLog());
  std::filesystem::rename(path_ + ".before", path_);
  const auto resumed = Load(/*resume=*/true);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->resumed().circuits(), 3u);
  EXPECT_THAT(Inputs(), ElementsAre(1, 2, 3));
  ASSERT_TRUE(SetUpCircuit(*controller_, 6, 6).ok());
  EXPECT_EQ(Unload().kept().circuits(), 4u);
  // The next controller finds it too.
  controller_.reset();
  controller_ = std::make_unique<TestController>(directory_.path());
  ASSERT_TRUE(Load(/*resume=*/true).ok());
  EXPECT_THAT(Inputs(), ElementsAre(1, 2, 3, 6));
}

TEST_F(EndedFabricTest, WhatWasPutBackIsSetAsideAgainWithoutResume) {
  LoadSetUpUnload({1, 2, 3});
  LoadSetUpUnload({});
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nothing to keep";
  std::filesystem::rename(path_ + ".before", path_);
  const auto anew = Load(/*resume=*/false);
  ASSERT_TRUE(anew.ok()) << anew.status();
  EXPECT_EQ(anew->set_aside().circuits(), 3u);
  EXPECT_TRUE(std::filesystem::exists(path_ + ".before"));
}

TEST_F(EndedFabricTest, IdsOfAFileThatWasPutInAreNotGivenAgain) {
  const uint64_t last = PutInOthers();
  const auto resumed = Load(/*resume=*/true);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_THAT(Inputs(), ElementsAre(2));
  const auto next = SetUpCircuit(*controller_, 1, 1);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->circuit().id(), last);
}

TEST_F(EndedFabricTest, IdsOfAFileThatIsSetAsideAreNotGivenAgain) {
  const uint64_t last = PutInOthers();
  const auto anew = Load(/*resume=*/false);
  ASSERT_TRUE(anew.ok()) << anew.status();
  EXPECT_EQ(anew->set_aside().circuits(), 1u);
  const auto next = SetUpCircuit(*controller_, 1, 1);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT(next->circuit().id(), last);
}

TEST_F(EndedFabricTest, AFabricWhoseFileIsReplacedIsKeptNoLonger) {
  LoadSetUpUnload({1, 2, 3});
  ASSERT_TRUE(Load(/*resume=*/false).ok());
  ASSERT_TRUE(SetUpCircuit(*controller_, 4, 4).ok());
  ASSERT_TRUE(Eventually([&] { return HasLog(); }));
  std::filesystem::rename(path_ + ".before", path_);
  ASSERT_TRUE(SetUpCircuit(*controller_, 5, 5).ok()) << "set-ups do not wait for the disk";
  EXPECT_TRUE(Eventually([&] {
    return StatusOf(*controller_).keeping_problem().find("replaced") != std::string::npos;
  }));
  const v1::UnloadResponse last = Unload();
  EXPECT_FALSE(last.has_kept());
  EXPECT_THAT(last.keeping_problem(), HasSubstr(path_));
  ASSERT_TRUE(Load(/*resume=*/true).ok());
  EXPECT_THAT(Inputs(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(Eventually([&] { return StatusOf(*controller_).keeping_problem().empty(); }));
}

TEST_F(EndedFabricTest, AFabricThatIsAgainAsItWasKeptIsNotKeptInAnotherFile) {
  LoadSetUpUnload({1, 2, 3});
  ASSERT_TRUE(Load(/*resume=*/false).ok());
  ASSERT_TRUE(SetUpCircuit(*controller_, 4, 4).ok());
  ASSERT_TRUE(Eventually([&] { return KeptCircuits() == 1; }));
  std::filesystem::rename(path_ + ".before", path_);
  ASSERT_TRUE(SetLink(/*up=*/false).ok());
  const auto is_kept = [&] { return StatusOf(*controller_).keeping_problem().empty(); };
  ASSERT_TRUE(Eventually([&] { return !is_kept(); }));
  ASSERT_TRUE(SetLink(/*up=*/true).ok());
  // Nothing tells of a look that finds the same problem. Two of them come in this time.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(2'500);
  while (!is_kept() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(is_kept());
}

// Another process holds the store when the fabric ends.
class UnwrittenEndTest : public EndedFabricTest {
 protected:
  UnwrittenEndTest() {
    LoadSetUpUnload({1});
    EXPECT_TRUE(Load(/*resume=*/true).ok());
    EXPECT_TRUE(Eventually([&] { return HasLog(); }));
    EXPECT_EQ(sqlite3_open(path_.c_str(), &other_), SQLITE_OK);
    sqlite3_busy_timeout(other_, 5'000);
    Execute("BEGIN IMMEDIATE");
    EXPECT_TRUE(SetUpCircuit(*controller_, 2, 2).ok());
    EXPECT_FALSE(Unload().has_kept());
  }
  ~UnwrittenEndTest() override { sqlite3_close(other_); }
  void Execute(const char* sql) {
    EXPECT_EQ(sqlite3_exec(other_, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(other_);
  }

  sqlite3* other_ = nullptr;
};

TEST_F(UnwrittenEndTest, AnOlderIntentIsNotResumedBeforeIt) {
  const absl::Status refused = Load(/*resume=*/true).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(FieldsOf(refused), ElementsAre("resume"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("another process holds it"));
  EXPECT_FALSE(StatusOf(*controller_).loaded());
  Execute("ROLLBACK");
  ASSERT_TRUE(Eventually([&] { return StatusOf(*controller_).keeping_problem().empty(); }));
  ASSERT_TRUE(Load(/*resume=*/true).ok());
  EXPECT_THAT(Inputs(), ElementsAre(1, 2));
}

TEST_F(UnwrittenEndTest, WhatTheFileHoldsIsSetAsideByAFabricThatBegins) {
  ASSERT_TRUE(Load(/*resume=*/false).ok());
  EXPECT_THAT(Inputs(), IsEmpty());
  Execute("ROLLBACK");
  sqlite3_close(std::exchange(other_, nullptr));
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(path_ + ".before"); }));
  Unload();
  std::filesystem::rename(path_ + ".before", path_);
  ASSERT_TRUE(Load(/*resume=*/true).ok());
  EXPECT_THAT(Inputs(), ElementsAre(1));
}

}  // namespace
}  // namespace bfly::control
