// SPDX-License-Identifier: Apache-2.0
// The paths of slots: which order of requests they are chosen by, and when choosing them ends
// early.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "control/controller/schedule_message.h"
#include "control/intent/fabric_state.h"
#include "control/intent/slot_paths.h"

namespace bfly::control {
namespace {

using testing::HasSubstr;

constexpr uint32_t kRows = 16;

class SlotPathsTest : public testing::Test {
 protected:
  static std::unique_ptr<FabricState> On(NetworkKind kind, int passes = 1) {
    auto network = Network::Make({.kind = kind, .rows = kRows, .seed = 1, .passes = passes});
    EXPECT_TRUE(network.ok()) << network.status();
    return std::make_unique<FabricState>(std::make_shared<const Network>(*std::move(network)), 0);
  }
  static v1::Schedule Rotor() {
    v1::Schedule schedule;
    schedule.set_sequence(v1::Schedule::ROTOR);
    return schedule;
  }
  // Slots whose inputs descend. Slot k leads from row i to row 3 i + k modulo the rows, which is a
  // permutation because 3 is odd.
  static v1::Schedule Descending() {
    v1::Schedule schedule;
    schedule.set_sequence(v1::Schedule::SLOTS);
    schedule.set_protocol("minimum");
    for (uint32_t k = 0; k < 8; ++k) {
      v1::ScheduleSlot* const slot = schedule.add_slots();
      for (uint32_t i = kRows; i-- > 0;) {
        slot->add_inputs(i);
        slot->add_outputs((3 * i + k) % kRows);
      }
    }
    return schedule;
  }
  // Has no error for the first `times` times.
  static Interrupt After(int times) {
    return [left = times]() mutable {
      return left-- > 0 ? absl::OkStatus() : absl::DeadlineExceededError("over");
    };
  }
};

TEST_F(SlotPathsTest, ARepairChangesNothingWhereNothingIsDown) {
  const auto state = On(NetworkKind::kTwoFoldButterfly);
  const auto routed = RouteSchedule(Descending(), *state);
  ASSERT_TRUE(routed.ok()) << routed.status();
  // A controller that was restarted takes the paths over from the data plane, in order of inputs.
  RoutedSchedule adopted = RoutedScheduleOf(ScheduleMessageOf(1, 1, *routed, kRows), *state);
  ASSERT_EQ(adopted.slots.size(), 8u);
  for (const SlotPaths& slot : adopted.slots) {
    ASSERT_EQ(slot.paths.size(), kRows);
    ASSERT_TRUE(std::is_sorted(slot.paths.begin(), slot.paths.end(),
                               [](const auto& a, const auto& b) { return a.input < b.input; }));
  }
  EXPECT_EQ(RouteAgain(*state, adopted).value(), 0u);
}

TEST_F(SlotPathsTest, RoutingAsksBeforeEachSlotWhetherToGoOn) {
  const auto state = On(NetworkKind::kTwoFoldButterfly);
  EXPECT_EQ(RouteSchedule(Rotor(), *state, After(kRows - 2)).status(),
            absl::DeadlineExceededError("over"));
  auto routed = RouteSchedule(Rotor(), *state, After(kRows - 1));
  ASSERT_TRUE(routed.ok()) << routed.status();
  EXPECT_EQ(RouteAgain(*state, *routed, After(3)).status(), absl::DeadlineExceededError("over"));
  EXPECT_EQ(RouteAgain(*state, *routed, After(kRows - 1)).value(), 0u);
}

TEST_F(SlotPathsTest, ARepairThatWasInterruptedGoesOnWhereItEnded) {
  const auto state = On(NetworkKind::kTwoFoldButterfly);
  auto routed = RouteSchedule(Rotor(), *state);
  ASSERT_TRUE(routed.ok()) << routed.status();
  state->SetFault(LinkId{1, 2, 0}, true);  // greedy paths from row 2 keep to it
  CountBroken(state->faults(), *routed);
  const uint32_t broken = BrokenSlots(*routed);
  ASSERT_GT(broken, 2u);
  size_t next = 0;
  EXPECT_TRUE(RepairBroken(*state, After(2), next, *routed));
  EXPECT_EQ(BrokenSlots(*routed), broken - 2);
  EXPECT_LT(next, routed->slots.size());
  EXPECT_TRUE(RepairBroken(*state, {}, next, *routed));
  EXPECT_EQ(BrokenSlots(*routed), 0u);
  EXPECT_EQ(next, routed->slots.size());
  EXPECT_FALSE(RepairBroken(*state, {}, next, *routed));
}

TEST_F(SlotPathsTest, FramesGoByAnIntermediateRowOnlyWhereDataPlanesTakeThat) {
  v1::Schedule schedule = Rotor();
  schedule.set_late(v1::Schedule::VLB);
  EXPECT_TRUE(RouteSchedule(schedule, *On(NetworkKind::kTwoFoldButterfly)).ok());
  // Packets pass a wrapped butterfly twice.
  const auto wrapped = On(NetworkKind::kWrappedButterfly, /*passes=*/2);
  ASSERT_NE(wrapped->network().hops(), wrapped->network().stages());
  const absl::Status refused = RouteSchedule(schedule, *wrapped).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("late: frames cannot go by"));
  schedule.set_late(v1::Schedule::WAIT);
  EXPECT_TRUE(RouteSchedule(schedule, *wrapped).ok());
}

}  // namespace
}  // namespace bfly::control
