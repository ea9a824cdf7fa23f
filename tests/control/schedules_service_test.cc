// SPDX-License-Identifier: Apache-2.0
// Dry runs of schedules beside changes of the fabric, and the schedules of a data plane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
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

TEST(ScheduleControl, ADryRunIsMadeWhoeverIsPrimary) {
  TemporaryFolder directory;
  FakeBoard board;
  TestAgent agent(directory.path(), "dp0", FakeBackend(board, "dp0"));
  TestController controller(directory.path());
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  const auto schedules = std::make_unique<ScheduleControl>(
      controller.controller().intent(),
      ScheduleControl::Options{.caller = {}, .watch_interval = std::chrono::hours(1)});
  Arbitration& arbitration = controller.controller().arbitration();
  const int client = 0;
  ASSERT_TRUE(arbitration.Ask(&client, 7, [](bool, uint64_t) {}).ok());
  v1::StartScheduleRequest request;
  request.mutable_schedule()->set_sequence(v1::Schedule::ROTOR);
  const absl::Status change = schedules->Start(request, InAMinute(), {}).status();
  EXPECT_EQ(change.code(), absl::StatusCode::kPermissionDenied) << change;
  request.set_dry_run(true);
  const absl::Status dry_run = schedules->Start(request, InAMinute(), {}).status();
  EXPECT_TRUE(dry_run.ok()) << dry_run;
  arbitration.Leave(&client);
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

TEST(DataPlane, ThatWasNotReachedYetSaysSo) {
  const DataPlane plane("dp0", "unix:/nowhere", {});
  EXPECT_EQ(plane.UnavailableError().message(),
            "data plane dp0 at unix:/nowhere: was not reached yet");
}

// A fabric with a schedule, without slots and clocks.
class OneSchedule final : public dataplane::Schedules {
 public:
  absl::Status Start(const dataplane::ScheduleConfig& config) override {
    const std::lock_guard lock(mutex_);
    id_ = config.id;
    return absl::OkStatus();
  }
  absl::StatusOr<dataplane::ScheduleReport> Stop() override {
    const std::lock_guard lock(mutex_);
    if (id_ == 0) return absl::FailedPreconditionError("no schedule runs");
    dataplane::ScheduleReport report;
    report.id = std::exchange(id_, 0);
    report.no_slot = 11;
    return report;
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
  request.set_repairs(2);
  request.mutable_schedule()->set_sequence(v1::Schedule::ROTOR);
  request.mutable_schedule()->set_slot("7ms");
  ASSERT_TRUE(client.Set(request, InAMinute()).ok());
  auto held = client.Get(/*slots=*/false, /*counters=*/false, InAMinute());
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->running().id(), 5u);
  EXPECT_EQ(held->running().version(), 3u);
  EXPECT_EQ(held->running().repairs(), 2u);
  EXPECT_FALSE(held->running().has_schedule());
  held = client.Get(/*slots=*/true, /*counters=*/false, InAMinute());
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->running().schedule().slot(), "7ms");
  for (int time = 0; time < 2; ++time) {
    const auto ended = client.Stop(InAMinute());
    ASSERT_TRUE(ended.ok()) << ended.status();
    EXPECT_EQ(ended->has_counters(), time == 0) << "the second time none runs";
    EXPECT_EQ(ended->counters().no_slot(), time == 0 ? 11u : 0u);
    held = client.Get(/*slots=*/false, /*counters=*/false, InAMinute());
    ASSERT_TRUE(held.ok()) << held.status();
    EXPECT_FALSE(held->has_running());
  }
}

}  // namespace
}  // namespace bfly::control
