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
#include <thread>
#include <utility>

#include "bfly/v1/schedules.grpc.pb.h"
#include "control/controller/schedule_client.h"
#include "control/controller/schedule_control.h"
#include "control/controller/schedule_request.h"
#include "dataplane/slots/schedules.h"
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
    ++asked_;
    const std::string& slot = request->schedule().slot();
    if (refusal_ != grpc::StatusCode::OK && (refused_slot_.empty() || refused_slot_ == slot)) {
      return {refusal_, "no memory for queues"};
    }
    held_ = *request;
    return grpc::Status::OK;
  }
  grpc::Status Stop(grpc::ServerContext*, const v1::AgentScheduleStopRequest*,
                    v1::AgentScheduleStopResponse*) override {
    const std::lock_guard lock(mutex_);
    if (!held_.has_value()) return {grpc::StatusCode::FAILED_PRECONDITION, "no schedule runs"};
    held_.reset();
    return grpc::Status::OK;
  }
  grpc::Status Get(grpc::ServerContext*, const v1::AgentScheduleStateRequest*,
                   v1::AgentScheduleState* response) override {
    const std::lock_guard lock(mutex_);
    if (held_.has_value()) *response->mutable_running() = *held_;
    return grpc::Status::OK;
  }
  // What Set answers from now on, to a schedule with slots of this length; empty: to every one.
  void Answer(grpc::StatusCode code, const std::string& slot = "") {
    const std::lock_guard lock(mutex_);
    refusal_ = code;
    refused_slot_ = slot;
  }
  // How often Set was called.
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  // As after a restart.
  void Lose() {
    const std::lock_guard lock(mutex_);
    held_.reset();
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
  std::optional<v1::AgentScheduleRequest> held_;     // mutex_
  grpc::StatusCode refusal_ = grpc::StatusCode::OK;  // mutex_
  std::string refused_slot_;                         // mutex_
  int asked_ = 0;                                    // mutex_
};

v1::Schedule RotorOf(const std::string& slot) {
  v1::Schedule schedule;
  schedule.set_sequence(v1::Schedule::ROTOR);
  schedule.set_slot(slot);
  EXPECT_TRUE(CheckScheduleRequest(&schedule).ok());
  return schedule;
}

// The controller's thread does not look again before a call comes.
class UnlookedScheduleTest : public testing::Test {
 protected:
  UnlookedScheduleTest() { EXPECT_TRUE(Load(controller_, SmallTopology()).ok()); }
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

TEST(DataPlane, ThatWasNotReachedYetSaysSo) {
  const DataPlane plane("dp0", "unix:/nowhere", {});
  EXPECT_EQ(plane.UnavailableError().message(),
            "data plane dp0 at unix:/nowhere: was not reached yet");
}

// Else a client takes "failed to connect" for a controller that is away.
TEST_F(UnlookedScheduleTest, AnErrorOfTheDataPlaneNamesIt) {
  held_.Answer(grpc::StatusCode::UNAVAILABLE);
  const absl::Status status = Start("7ms", /*replace=*/false);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), testing::StartsWith("data plane dp0 at "));
}

TEST_F(UnlookedScheduleTest, OneThatRunsRunsOnIfAnotherCannotTakeItsPlace) {
  v1::AgentScheduleRequest running;
  running.set_id(1);
  running.set_version(1);
  *running.mutable_schedule() = RotorOf("7ms");
  held_.Hold(std::move(running));
  held_.Answer(grpc::StatusCode::INTERNAL);
  Resume(std::nullopt);
  EXPECT_EQ(Start("9ms", /*replace=*/true).code(), absl::StatusCode::kInternal);
  const auto now = schedules_.Get(InAMinute());
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_EQ(now->status().schedule().slot(), "7ms");
  EXPECT_EQ(held_.Slot(), "7ms");
}

// A fabric with a schedule, without slots and clocks.
class OneSchedule final : public dataplane::Schedules {
 public:
  absl::Status Start(const dataplane::ScheduleConfig& config) override {
    const std::lock_guard lock(mutex_);
    id_ = config.id;
    return absl::OkStatus();
  }
  absl::Status Stop() override {
    const std::lock_guard lock(mutex_);
    if (std::exchange(id_, 0) != 0) return absl::OkStatus();
    return absl::FailedPreconditionError("no schedule runs");
  }
  absl::StatusOr<dataplane::ScheduleReport> Report() const override {
    const std::lock_guard lock(mutex_);
    if (id_ == 0) return absl::FailedPreconditionError("no schedule runs");
    dataplane::ScheduleReport report;
    report.id = id_;
    return report;
  }
  bool turns_back() const override { return false; }

 private:
  mutable std::mutex mutex_;
  uint64_t id_ = 0;  // mutex_; 0: none runs
};

TEST(AgentSchedules, AStateHasTheScheduleOnlyWithItsSlots) {
  TemporaryFolder directory;
  FakeBoard board;
  OneSchedule schedules;
  board.schedules = &schedules;
  TestAgent agent(directory.path(), "dp0", FakeBackend(board, "dp0"));
  ASSERT_TRUE(agent.host().Load(SmallTopology()).ok());
  const DataPlane plane("dp0", SocketAddress(directory.path(), "dp0"), {});
  ScheduleClient client(plane, {});
  v1::AgentScheduleRequest request;
  request.set_id(5);
  request.set_version(3);
  *request.mutable_schedule() = RotorOf("7ms");
  ASSERT_TRUE(client.Set(request, InAMinute()).ok());
  auto held = client.Get(/*slots=*/false, /*counters=*/false, InAMinute());
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->running().id(), 5u);
  EXPECT_EQ(held->running().version(), 3u);
  EXPECT_FALSE(held->running().has_schedule());
  held = client.Get(/*slots=*/true, /*counters=*/false, InAMinute());
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->running().schedule().slot(), "7ms");
  for (int time = 0; time < 2; ++time) {
    EXPECT_TRUE(client.Stop(InAMinute()).ok()) << "also if none runs";
    held = client.Get(/*slots=*/false, /*counters=*/false, InAMinute());
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_FALSE(held->has_running());
  }
}

}  // namespace
}  // namespace bfly::control
