// SPDX-License-Identifier: Apache-2.0
// Dry runs of schedules beside changes of the fabric, and schedules that are kept or run before the
// controller first looked at them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "bfly/v1/schedules.grpc.pb.h"
#include "control/controller/schedule_control.h"
#include "control/controller/schedule_request.h"
#include "tests/control/service_fixture.h"

namespace bfly::control {
namespace {

TEST(ScheduleControl, ADryRunDoesNotWaitForChanges) {
  TemporaryFolder directory;
  FakeBoard board;
  TestAgent agent(directory.path(), "dp0", FakeBackend(board, "dp0"));
  TestController controller(directory.path());
  LoadedIntent& intent = controller.controller().intent();
  const auto schedules = std::make_unique<ScheduleControl>(
      intent, ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)});
  v1::StartScheduleRequest request;
  request.mutable_schedule()->set_sequence(v1::Schedule::ROTOR);
  request.set_dry_run(true);
  EXPECT_EQ(schedules->Start(request, InAMinute(), {}).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "no fabric is loaded";
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  {
    const std::lock_guard change(intent.change_lock());
    const auto routed = schedules->Start(request, InAMinute(), {});
    ASSERT_TRUE(routed.ok()) << routed.status();
    EXPECT_EQ(routed->slots_size(), 15);
    EXPECT_EQ(routed->rows(), 16u);
  }
}

// What the choice of paths says when a call is given up, instead of which slot is wrong.
absl::Status GivenUp(const absl::Status& reason, bool dry_run) {
  TemporaryFolder directory;
  FakeBoard board;
  TestAgent agent(directory.path(), "dp0", FakeBackend(board, "dp0"));
  TestController controller(directory.path());
  EXPECT_TRUE(Load(controller, SmallTopology()).ok());
  ScheduleControl schedules(
      controller.controller().intent(),
      ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)});
  v1::StartScheduleRequest request;
  request.mutable_schedule()->set_sequence(v1::Schedule::ROTOR);
  request.set_dry_run(dry_run);
  return schedules.Start(request, InAMinute(), [&] { return reason; }).status();
}

TEST(ScheduleControl, ACallThatIsGivenUpChoosesNoMorePaths) {
  for (const bool dry_run : {true, false}) {
    for (const absl::Status& reason :
         {absl::CancelledError("cancelled"), absl::DeadlineExceededError("late")}) {
      const absl::Status status = GivenUp(reason, dry_run);
      EXPECT_EQ(status.code(), reason.code()) << status;
      EXPECT_TRUE(FieldsOf(status).empty()) << status;
    }
  }
}

// Frames come back from the last stage within a data plane, so another one for it refuses VLB.
TEST(ScheduleControl, IntermediateRowsNeedOneDataPlaneForTheFirstAndTheLastStage) {
  TemporaryFolder directory;
  FakeBoard board;
  TestAgent first(directory.path(), "dp0", FakeBackend(board, "dp0"));
  TestAgent last(directory.path(), "dp1", FakeBackend(board, "dp1"));
  TestController controller(directory.path());
  ASSERT_TRUE(Load(controller, SmallTopology(/*split=*/true)).ok());
  ScheduleControl schedules(
      controller.controller().intent(),
      ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)});
  v1::StartScheduleRequest request;
  request.mutable_schedule()->set_sequence(v1::Schedule::ROTOR);
  request.mutable_schedule()->set_late(v1::Schedule::VLB);
  for (const bool dry_run : {true, false}) {
    request.set_dry_run(dry_run);
    const absl::Status refused = schedules.Start(request, InAMinute(), {}).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
    EXPECT_THAT(FieldsOf(refused), testing::ElementsAre("schedule.late")) << refused;
  }
}

// What a data plane holds, without slots and clocks.
class HeldSchedule final : public v1::AgentSchedules::Service {
 public:
  grpc::Status Set(grpc::ServerContext*, const v1::AgentScheduleRequest* request,
                   v1::AgentScheduleResponse*) override {
    const std::lock_guard lock(mutex_);
    if (refuses_) return {grpc::StatusCode::INTERNAL, "no memory for queues"};
    held_ = *request;
    return grpc::Status::OK;
  }
  grpc::Status Stop(grpc::ServerContext*, const v1::AgentScheduleStopRequest*,
                    v1::AgentScheduleStopResponse*) override {
    const std::lock_guard lock(mutex_);
    held_.reset();
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const v1::AgentScheduleStateRequest*,
                   v1::AgentScheduleState* response) override {
    const std::lock_guard lock(mutex_);
    if (held_.has_value()) *response->mutable_running() = *held_;
    return grpc::Status::OK;
  }
  void Refuse() {
    const std::lock_guard lock(mutex_);
    refuses_ = true;
  }
  void Hold(v1::AgentScheduleRequest held) {
    const std::lock_guard lock(mutex_);
    held_ = std::move(held);
  }
  // How long its slots are; empty: none runs.
  std::string Slot() {
    const std::lock_guard lock(mutex_);
    return held_.has_value() ? held_->schedule().slot() : "";
  }

 private:
  std::mutex mutex_;
  std::optional<v1::AgentScheduleRequest> held_;  // mutex_
  bool refuses_ = false;                          // mutex_
};

// The controller's thread does not look again before a call comes.
class UnlookedScheduleTest : public testing::Test {
 protected:
  UnlookedScheduleTest() { EXPECT_TRUE(Load(controller_, SmallTopology()).ok()); }
  static v1::Schedule RotorOf(const std::string& slot) {
    v1::Schedule schedule;
    schedule.set_sequence(v1::Schedule::ROTOR);
    schedule.set_slot(slot);
    EXPECT_TRUE(CheckScheduleRequest(&schedule).ok());
    return schedule;
  }
  absl::Status Start(const std::string& slot, bool replace) {
    v1::StartScheduleRequest request;
    *request.mutable_schedule() = RotorOf(slot);
    request.set_replace(replace);
    return schedules_.Start(request, InAMinute(), {}).status();
  }
  LoadedIntent& intent() { return controller_.controller().intent(); }
  // Another fabric over the same data plane takes the place of the one that the thread may have
  // looked at, with what was kept of it.
  void Resume(std::optional<v1::Schedule> kept) {
    const std::lock_guard change(intent().change_lock());
    const Intent& before = intent().now();
    auto next = MakeIntent(before.topology, directory_.path(), {}, before.planes, 0);
    ASSERT_TRUE(next.ok()) << next.status();
    (*next)->schedule = std::move(kept);
    intent().Replace(*std::move(next));
  }
  std::string Kept() {
    std::string slot;
    intent()
        .Read([&](const Intent& intent) {
          if (intent.schedule.has_value()) slot = intent.schedule->slot();
        })
        .IgnoreError();
    return slot;
  }

  TemporaryFolder directory_;
  FakeBoard board_;
  HeldSchedule held_;
  TestAgent agent_{directory_.path(), "dp0", FakeBackend(board_, "dp0"), &held_};
  TestController controller_{directory_.path()};
  ScheduleControl schedules_{
      intent(), ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)}};
};

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

TEST_F(UnlookedScheduleTest, OneThatRunsRunsOnIfAnotherCannotTakeItsPlace) {
  v1::AgentScheduleRequest running;
  running.set_id(1);
  running.set_version(1);
  *running.mutable_schedule() = RotorOf("7ms");
  held_.Hold(std::move(running));
  held_.Refuse();
  Resume(std::nullopt);
  EXPECT_EQ(Start("9ms", /*replace=*/true).code(), absl::StatusCode::kInternal);
  const auto now = schedules_.Get(InAMinute());
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->status().schedule().slot(), "7ms");
  EXPECT_EQ(held_.Slot(), "7ms");
}

}  // namespace
}  // namespace bfly::control
