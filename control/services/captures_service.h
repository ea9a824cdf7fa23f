// SPDX-License-Identifier: Apache-2.0
// bfly.v1.Captures over the data planes of a Controller.
#pragma once

#include <memory>

#include "control/controller/agent_caller.h"
#include "control/controller/controller.h"
#include "control/controller/repeated_call.h"
#include "control/controller/schedule_control.h"
#include "control/services/byte_service.h"

namespace bfly::control {

class RunningCaptures;

class CapturesService final : public ByteService {
 public:
  // Calls data planes as `caller`. `schedules` must outlive the object.
  CapturesService(Controller& controller, ScheduleControl& schedules, AgentCaller caller,
                  CallDesk& desk);
  ~CapturesService() override;

 private:
  Controller& controller_;
  ScheduleControl& schedules_;
  const AgentCaller caller_;
  StalledCalls& stalled_;
  const std::unique_ptr<RunningCaptures> running_;
  RepeatedCall looks_;  // last: it uses the rest
};

}  // namespace bfly::control
