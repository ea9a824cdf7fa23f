// SPDX-License-Identifier: Apache-2.0
// What an agent tells of the ports and trunks of its data plane.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/agent/counters.h"

namespace bfly::control {
namespace {

using dataplane::Steering;
using testing::ElementsAre;

TEST(PortStatus, HasTheFiguresOfTheDataPlane) {
  v1::PortStatus status;
  FillPortStatus({.name = "p0",
                  .queue_pairs = 4,
                  .lcores = {5, 0, 129},
                  .steering = Steering::kFlowRules,
                  .rows_handed_over = 6},
                 &status);
  EXPECT_EQ(status.name(), "p0");
  EXPECT_EQ(status.queue_pairs(), 4u);
  EXPECT_THAT(status.lcores(), ElementsAre(5, 0, 129));
  EXPECT_EQ(status.rows_handed_over(), 6u);
}

TEST(PortStatus, SaysWhatBringsFramesToTheirWorker) {
  const auto told = [](Steering steering) {
    v1::PortStatus status;
    FillPortStatus({.name = "p0",
                    .queue_pairs = 2,
                    .lcores = {0, 1},
                    .steering = steering,
                    .rows_handed_over = 0},
                   &status);
    return status.steering();
  };
  EXPECT_EQ(told(Steering::kNone), v1::PortStatus::STEERING_UNSPECIFIED);
  EXPECT_EQ(told(Steering::kFlowRules), v1::PortStatus::FLOW_RULES);
  EXPECT_EQ(told(Steering::kRss), v1::PortStatus::RSS);
  EXPECT_EQ(told(Steering::kSoftware), v1::PortStatus::SOFTWARE);
  EXPECT_EQ(told(Steering::kSender), v1::PortStatus::SENDER);
}

}  // namespace
}  // namespace bfly::control
