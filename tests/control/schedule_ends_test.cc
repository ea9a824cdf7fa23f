// SPDX-License-Identifier: Apache-2.0
// Schedules that a data plane refuses after it lost them, that are taken over while another data
// plane is away, that are shown while they change, and whose end is written before the data plane
// is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/controller/schedule_message.h"
#include "control/controller/schedule_view.h"
#include "control/intent/slot_paths.h"
#include "tests/control/schedules_fixture.h"

namespace bfly::control {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

// As a data plane has it that was asked for the circuits, too.
v1::AgentScheduleRequest HeldRotorWithSlots(const std::string& slot, LoadedIntent& intent) {
  const std::lock_guard change(intent.change_lock());
  const FabricState& state = intent.now().state;
  const auto routed = RouteSchedule(RotorOf(slot), state);
  EXPECT_TRUE(routed.ok()) << routed.status();
  if (!routed.ok()) return HeldRotor(slot);
  return ScheduleMessageOf(/*id=*/1, /*version=*/1, *routed, state.network().rows());
}

absl::Status TakeLinkDown(TestController& controller, uint32_t stage, Row row, uint32_t port) {
  v1::SetLinkStateRequest request;
  request.set_stage(stage);
  request.set_row(row);
  request.set_port(port);
  return Call(*controller.fabric, &v1::Fabric::Stub::SetLinkState, request).status();
}

// A fabric over two data planes. Stage 0 is at dp0.
class SplitScheduleTest : public testing::Test {
 protected:
  SplitScheduleTest() { EXPECT_TRUE(Load(controller_, SmallTopology(/*split=*/true)).ok()); }
  std::unique_ptr<TestAgent> SecondPlane() {
    return std::make_unique<TestAgent>(directory_.path(), "dp1", FakeBackend(board_, "dp1"));
  }
  LoadedIntent& intent() { return controller_.controller().intent(); }

  TemporaryFolder directory_;
  FakeBoard board_;
  FakeSchedules held_;
  const TestAgent dp0_{directory_.path(), "dp0", FakeBackend(board_, "dp0"), &held_};
  std::unique_ptr<TestAgent> dp1_ = SecondPlane();
  TestController controller_{directory_.path()};
};

TEST_F(SplitScheduleTest, OneThatRunsIsShownWhileAnotherDataPlaneIsAway) {
  held_.Hold(HeldRotorWithSlots("7ms", intent()));
  // No frame of row 3 gets on, and each slot has a circuit from there.
  for (const uint32_t port : {0u, 1u}) ASSERT_TRUE(TakeLinkDown(controller_, 0, 3, port).ok());
  dp1_.reset();
  ASSERT_TRUE(Eventually([&] { return !intent().all_usable(); }));
  std::unique_lock change(intent().change_lock());  // no look comes before it is given back
  ScheduleControl looks(intent(), {.caller = {}, .watch_interval = milliseconds(1)});
  const absl::Status unknown = looks.Get(InAMinute()).status();
  change.unlock();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("dp0 runs is taken over in a moment"));
  v1::GetScheduleResponse now;
  EXPECT_TRUE(Eventually([&] {
    const auto got = looks.Get(InAMinute());
    if (got.ok()) now = *got;
    return got.ok();
  }));
  EXPECT_EQ(now.status().schedule().slot(), "7ms");
  EXPECT_EQ(now.status().slots_size(), 15);
  EXPECT_EQ(now.status().broken_slots(), 15u);
}

// Nobody knows whether the schedule runs.
TEST(TakenOverScheduleTest, OneThatIsKeptIsNotSaidToWaitWhileItsDataPlaneIsAway) {
  TemporaryFolder directory;
  FakeBoard board;
  FakeSchedules held;
  auto dp0 = std::make_unique<TestAgent>(directory.path(), "dp0", FakeBackend(board, "dp0"), &held);
  TestController controller(directory.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  dp0.reset();
  LoadedIntent& intent = controller.controller().intent();
  ASSERT_TRUE(Eventually([&] { return !intent.all_usable(); }));
  {
    const std::lock_guard change(intent.change_lock());
    intent.Change([](Intent& now) { now.schedule = RotorOf("7ms"); });
  }
  ScheduleControl looks(intent, {.caller = {}, .watch_interval = std::chrono::hours(1)});
  const absl::Status unknown = looks.Get(InAMinute()).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kUnavailable) << unknown;
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("data plane dp0 at "));
}

TEST_F(UnlookedScheduleTest, OneOfAnotherControllerIsNotSaidToBeTakenOver) {
  held_.Hold(HeldRotor("7ms"));
  const auto plane =
      std::make_shared<DataPlane>("dp0", SocketAddress(directory_.path(), "dp0"), AgentCaller());
  ScheduleView view;
  view.ingress = plane;
  plane->Learn([](DataPlane::Known& known) { known.reachable = true; });
  const absl::Status ours = AnswerOf(view, {}, InAMinute()).status();
  EXPECT_EQ(ours.code(), absl::StatusCode::kUnavailable) << ours;
  EXPECT_THAT(std::string(ours.message()), HasSubstr("is taken over in a moment"));
  plane->Learn([](DataPlane::Known& known) {
    known.other_fabric = true;
    known.problem = "is owned by somebody else";
  });
  const absl::Status other = AnswerOf(view, {}, InAMinute()).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kUnavailable) << other;
  EXPECT_THAT(std::string(other.message()), HasSubstr("is owned by somebody else"));
  EXPECT_THAT(std::string(other.message()), Not(HasSubstr("in a moment")));
}

// The data plane has the other schedule, or none, before the controller is told so.
TEST_F(UnlookedScheduleTest, OneThatIsChangedIsNotShownAsOneThatHasNotBegun) {
  ASSERT_TRUE(Start("7ms", /*replace=*/false).ok());
  const auto get_amid = [this](const std::function<absl::Status()>& change) {
    held_.SetGate(/*open=*/false);
    absl::Status changed;
    std::thread changes([&] { changed = change(); });
    EXPECT_TRUE(Eventually([this] { return held_.AnswerWaits(); }));
    const absl::Status amid = schedules_.Get(InAMinute()).status();
    held_.SetGate(/*open=*/true);
    changes.join();
    EXPECT_TRUE(changed.ok()) << changed;
    return amid;
  };
  const absl::Status replaced = get_amid([this] { return Start("9ms", /*replace=*/true); });
  EXPECT_EQ(replaced.code(), absl::StatusCode::kUnavailable) << replaced;
  EXPECT_THAT(std::string(replaced.message()), HasSubstr("is being changed"));
  const auto after = schedules_.Get(InAMinute());
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->status().schedule().slot(), "9ms");
  const absl::Status stopped =
      get_amid([this] { return schedules_.Stop(0, InAMinute()).status(); });
  EXPECT_EQ(stopped.code(), absl::StatusCode::kUnavailable) << stopped;
  EXPECT_THAT(std::string(stopped.message()), HasSubstr("is being changed"));
  const auto none = schedules_.Get(InAMinute());
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->has_status() || none->has_kept());
}

TEST_F(SplitScheduleTest, OneThatIsKeptWaitsForAllDataPlanesAndSaysSo) {
  dp1_.reset();
  ASSERT_TRUE(Eventually([&] { return !intent().all_usable(); }));
  {
    const std::lock_guard change(intent().change_lock());
    intent().Change([](Intent& now) { now.schedule = RotorOf("7ms"); });
  }
  ScheduleControl looks(intent(), {.caller = {}, .watch_interval = milliseconds(1)});
  EXPECT_TRUE(Eventually([&] {
    const auto got = looks.Get(InAMinute());
    return got.ok() && got->kept_problem().find("dp1") != std::string::npos;
  }));
  EXPECT_EQ(held_.asked(), 0);
  dp1_ = SecondPlane();
  EXPECT_TRUE(Eventually([&] { return held_.Slot() == "7ms"; }));
}

// A try every 2 s: more only if this machine stands still meanwhile.
TEST_F(UnlookedScheduleTest, OneThatIsLostAndRefusedIsShownWithTheReasonAndTriedNowAndThen) {
  ScheduleControl looks(intent(), {.caller = {}, .watch_interval = milliseconds(1)});
  ASSERT_TRUE(StartAt(looks, "7ms", /*replace=*/false).ok());
  held_.Answer(grpc::StatusCode::RESOURCE_EXHAUSTED);
  held_.Lose();
  ExpectKeptAndRefused(looks);
  std::this_thread::sleep_for(milliseconds(500));
  EXPECT_LE(held_.asked(), 3);
  held_.Answer(grpc::StatusCode::OK);
  EXPECT_TRUE(Eventually([&] {
    const auto got = looks.Get(InAMinute());
    return got.ok() && got->has_status();
  }));
}

// Notes what is kept and what runs whenever the intent is written at once.
class WrittenScheduleTest : public UnlookedScheduleTest {
 protected:
  std::vector<std::pair<std::string, std::string>> written_;
  ScheduleControl writes_{
      intent(), {.caller = {}, .watch_interval = std::chrono::hours(1), .write_now = [this] {
                   written_.emplace_back(Kept(), held_.Slot());
                 }}};
};

// A controller that is killed after the data plane ended the schedule must not begin it again.
TEST_F(WrittenScheduleTest, TheEndIsWrittenBeforeTheDataPlaneIsAsked) {
  ASSERT_TRUE(StartAt(writes_, "7ms", /*replace=*/false).ok());
  EXPECT_EQ(Kept(), "7ms");
  const auto last = writes_.Stop(0, InAMinute());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT(written_, ElementsAre(Pair("", "7ms")));
  EXPECT_EQ(Kept(), "");
  EXPECT_EQ(held_.Slot(), "");
}

TEST_F(WrittenScheduleTest, TheEndOfOneThatHasNotBegunIsWritten) {
  held_.Answer(grpc::StatusCode::FAILED_PRECONDITION);
  Resume(RotorOf("7ms"));
  const auto last = writes_.Stop(0, InAMinute());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_THAT(written_, ElementsAre(Pair("", "")));
}

TEST_F(WrittenScheduleTest, OneThatTheDataPlaneDoesNotEndIsStillKept) {
  ASSERT_TRUE(StartAt(writes_, "7ms", /*replace=*/false).ok());
  held_.AnswerEnd(grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(writes_.Stop(0, InAMinute()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Kept(), "7ms");
  EXPECT_EQ(held_.Slot(), "7ms");
  held_.AnswerEnd(grpc::StatusCode::OK);
  EXPECT_TRUE(writes_.Stop(0, InAMinute()).ok());
  EXPECT_EQ(Kept(), "");
}

}  // namespace
}  // namespace bfly::control
