// SPDX-License-Identifier: Apache-2.0
// Dry runs of schedules beside changes of the fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>

#include "control/controller/schedule_control.h"
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

}  // namespace
}  // namespace bfly::control
