// SPDX-License-Identifier: Apache-2.0
// Schedules that are kept or run before the controller first looked at them, and answers that are
// lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "tests/control/schedules_fixture.h"

namespace bfly::control {
namespace {

TEST_F(UnlookedScheduleTest, OneThatIsKeptIsNotReplacedWithoutReplace) {
  Resume(RotorOf("7ms"));
  EXPECT_EQ(Start("9ms", /*replace=*/false).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(held_.Slot(), "7ms");
  EXPECT_EQ(Kept(), "7ms");
  EXPECT_TRUE(Start("9ms", /*replace=*/true).ok());
  EXPECT_EQ(held_.Slot(), "9ms");
  EXPECT_EQ(Kept(), "9ms");
}

TEST_F(UnlookedScheduleTest, OneThatIsKeptCanBeStopped) {
  Resume(RotorOf("7ms"));
  const auto last = schedules_.Stop(0, InAMinute());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->schedule().slot(), "7ms");
  EXPECT_EQ(Kept(), "");
  EXPECT_EQ(held_.Slot(), "");
  EXPECT_EQ(schedules_.Stop(0, InAMinute()).status().message(), "no schedule runs");
}

TEST_F(UnlookedScheduleTest, OneThatTheDataPlaneLostIsStoppedForGood) {
  ASSERT_TRUE(Start("7ms", /*replace=*/false).ok());
  held_.Lose();
  const auto last = schedules_.Stop(0, InAMinute());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->schedule().slot(), "7ms");
  EXPECT_EQ(Kept(), "");
  const auto now = schedules_.Get(InAMinute());
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_FALSE(now->has_status()) << "a look would push what has a status";
  EXPECT_TRUE(Start("9ms", /*replace=*/false).ok());
}

TEST_F(UnlookedScheduleTest, OneThatIsKeptIsTriedAgainUntilItDoesNotFit) {
  held_.Answer(grpc::StatusCode::FAILED_PRECONDITION);
  Resume(RotorOf("7ms"));
  EXPECT_FALSE(schedules_.Repair(0, InAMinute(), {}).ok());
  EXPECT_EQ(Kept(), "7ms");
  EXPECT_EQ(held_.Slot(), "");
  held_.Answer(grpc::StatusCode::OK);
  EXPECT_TRUE(schedules_.Repair(0, InAMinute(), {}).ok());
  EXPECT_EQ(held_.Slot(), "7ms");
  held_.Lose();
  held_.Answer(grpc::StatusCode::INVALID_ARGUMENT);
  Resume(RotorOf("8ms"));
  EXPECT_EQ(schedules_.Repair(0, InAMinute(), {}).status().message(), "no schedule runs");
  EXPECT_EQ(Kept(), "");
}

TEST_F(UnlookedScheduleTest, OneThatIsKeptAndCannotBeginIsReplaced) {
  held_.Answer(grpc::StatusCode::RESOURCE_EXHAUSTED, "7ms");
  Resume(RotorOf("7ms"));
  const absl::Status refused = Start("9ms", /*replace=*/false);
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(refused.message()),
              testing::StartsWith("the schedule that was kept cannot begin yet: data plane dp0"));
  const absl::Status replaced = Start("9ms", /*replace=*/true);
  EXPECT_TRUE(replaced.ok()) << replaced;
  EXPECT_EQ(held_.Slot(), "9ms");
  EXPECT_EQ(Kept(), "9ms");
}

TEST_F(UnlookedScheduleTest, OneThatIsKeptBeginsIfItsReplacementDoesNot) {
  held_.Answer(grpc::StatusCode::INTERNAL, "9ms");
  Resume(RotorOf("7ms"));
  EXPECT_EQ(Start("9ms", /*replace=*/true).code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Kept(), "7ms");
  EXPECT_TRUE(schedules_.Repair(0, InAMinute(), {}).ok());
  EXPECT_EQ(held_.Slot(), "7ms");
}

// What a schedule dropped at its end is known only once it has ended.
TEST_F(UnlookedScheduleTest, StoppingOneTellsWhatTheDataPlaneSaidOfItsEnd) {
  ASSERT_TRUE(Start("7ms", /*replace=*/false).ok());
  const auto last = schedules_.Stop(0, InAMinute());
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(last->no_slot(), 3u);
  EXPECT_EQ(last->slots_size(), 15);
}

TEST_F(UnlookedScheduleTest, OneThatIsKeptBeginsIfItsReplacementWasTakenAndNotConfirmed) {
  Resume(RotorOf("7ms"));
  held_.LoseAnswers("9ms");
  EXPECT_EQ(Start("9ms", /*replace=*/true).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(held_.Slot(), "9ms");
  EXPECT_EQ(Kept(), "7ms");
  EXPECT_TRUE(schedules_.Repair(0, InAMinute(), {}).ok());
  EXPECT_EQ(held_.Slot(), "7ms");
  EXPECT_EQ(Kept(), "7ms");
}

// The data plane may have taken up a repair whose answer was lost: no other paths get its version.
TEST_F(UnlookedScheduleTest, PathsAfterARepairThatWasNotConfirmedHaveAVersionOfTheirOwn) {
  ASSERT_TRUE(Start("7ms", /*replace=*/false).ok());
  {
    const std::lock_guard change(intent().change_lock());
    intent().Change([](Intent& now) { now.state.SetFault(LinkId{2, 3, 1}, /*down=*/true); });
  }
  held_.LoseAnswers();
  const auto lost = schedules_.Repair(0, InAMinute(), {});
  EXPECT_EQ(lost.status().code(), absl::StatusCode::kUnavailable) << lost.status();
  EXPECT_EQ(held_.Version(), 2u);
  held_.Answer(grpc::StatusCode::OK);
  EXPECT_TRUE(schedules_.Repair(0, InAMinute(), {}).ok());
  EXPECT_EQ(held_.Version(), 4u);
}

TEST(KeptScheduleTest, OneThatHasNotBegunOutlivesTheController) {
  TemporaryFolder directory;
  FakeBoard board;
  FakeSchedules held;
  held.Answer(grpc::StatusCode::FAILED_PRECONDITION);
  const TestAgent agent(directory.path(), "dp0", FakeBackend(board, "dp0"), &held);
  {
    TestController first(directory.path());
    ASSERT_TRUE(Load(first, SmallTopology()).ok());
    LoadedIntent& intent = first.controller().intent();
    const std::lock_guard change(intent.change_lock());
    intent.Change([](Intent& now) { now.schedule = RotorOf("7ms"); });
  }
  TestController next(directory.path());
  LoadedIntent& intent = next.controller().intent();
  ScheduleControl schedules(
      intent, ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)});
  // Whether it runs is known once the data plane was reached.
  EXPECT_TRUE(Eventually([&] {
    const auto now = schedules.Get(InAMinute());
    return now.ok() && now->kept().slot() == "7ms";
  }));
  held.Answer(grpc::StatusCode::OK);
  EXPECT_TRUE(schedules.Repair(0, InAMinute(), {}).ok());
  EXPECT_EQ(held.Slot(), "7ms");
}

TEST_F(UnlookedScheduleTest, OneThatIsKeptAndCannotBeginIsShownWithTheReason) {
  held_.Answer(grpc::StatusCode::RESOURCE_EXHAUSTED);
  Resume(RotorOf("7ms"));
  ScheduleControl looks(
      intent(),
      ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::milliseconds(1)});
  ExpectKeptAndRefused(looks);
  held_.Answer(grpc::StatusCode::OK);
  EXPECT_TRUE(Eventually([&] { return held_.Slot() == "7ms"; }));
}

// A try every 2 s: more only if this machine stands still meanwhile.
TEST_F(UnlookedScheduleTest, LooksTryOneThatIsKeptOnlyNowAndThen) {
  held_.Answer(grpc::StatusCode::INTERNAL);
  Resume(RotorOf("7ms"));
  const ScheduleControl looks(
      intent(),
      ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::milliseconds(1)});
  EXPECT_TRUE(Eventually([&] { return held_.asked() > 0; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LE(held_.asked(), 2);
  EXPECT_EQ(Kept(), "7ms");
}

// Else a client takes "failed to connect" for a controller that is away.
TEST_F(UnlookedScheduleTest, AnErrorOfTheDataPlaneNamesIt) {
  held_.Answer(grpc::StatusCode::UNAVAILABLE);
  const absl::Status status = Start("7ms", /*replace=*/false);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("data plane dp0 at "));
}

TEST_F(UnlookedScheduleTest, OneThatRunsRunsOnIfAnotherCannotTakeItsPlace) {
  v1::AgentScheduleRequest running = HeldRotor("7ms");
  running.set_repairs(4);
  held_.Hold(std::move(running));
  held_.Answer(grpc::StatusCode::INTERNAL);
  Resume(std::nullopt);
  EXPECT_EQ(Start("9ms", /*replace=*/true).code(), absl::StatusCode::kInternal);
  const auto now = schedules_.Get(InAMinute());
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->status().schedule().slot(), "7ms");
  EXPECT_EQ(now->status().repairs(), 4u);
  EXPECT_EQ(held_.Slot(), "7ms");
}

}  // namespace
}  // namespace bfly::control
