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
  EXPECT_EQ(schedules->Start(request, InAMinute()).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "no fabric is loaded";
  ASSERT_TRUE(Load(controller, SmallTopology()).ok());
  {
    const std::lock_guard change(intent.change_lock());
    const auto routed = schedules->Start(request, InAMinute());
    ASSERT_TRUE(routed.ok()) << routed.status();
    EXPECT_EQ(routed->slots_size(), 15);
    EXPECT_EQ(routed->rows(), 16u);
  }
  // A call whose time is over is told so, and not which slot is wrong.
  const absl::Status late =
      schedules->Start(request, Deadline::clock::now() - std::chrono::seconds(1)).status();
  EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
  EXPECT_TRUE(FieldsOf(late).empty()) << late;
}

}  // namespace
}  // namespace bfly::control
