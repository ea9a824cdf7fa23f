// SPDX-License-Identifier: Apache-2.0
// How a controller is started.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "control/controller/agent_caller.h"
#include "control/events/event_log.h"

namespace bfly::control {

struct ControllerOptions {
  std::string run_directory;
  // Where the intent is kept; empty: in the run directory.
  std::string state_directory = {};
  // Loads what is kept, if it was loaded when the last controller ended and no data plane holds it.
  bool resume = false;
  // Addresses of agents to take over from when starting, besides the sockets in the run directory.
  std::vector<std::string> agents;
  // A controller without an owner's id makes one up.
  AgentCaller caller = {};
  // Calls with this id may change the fabric whoever is primary; 0: there is no such id.
  uint64_t operator_id = 0;
  // How often the controller asks every data plane whether it is there and in step.
  std::chrono::milliseconds watch_interval{300};
  // How long an answer may take. A data plane whose connection stands counts as gone after
  // `late_looks` answers in a row that did not come in time.
  std::chrono::milliseconds look_time{2'000};
  int late_looks = 3;
  // A worker that begins no pass for this long counts as hung.
  std::chrono::milliseconds worker_patience{5000};
  // Gets what happens to the fabric.
  std::shared_ptr<EventLog> events = std::make_shared<EventLog>();
};

}  // namespace bfly::control
