// SPDX-License-Identifier: Apache-2.0
// How a controller is started.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "control/controller/agent_caller.h"

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
  // How long an answer may take. A data plane whose connection stands counts as gone after so many
  // answers in a row that did not come in time.
  std::chrono::milliseconds look_time{2'000};
  int late_looks = 3;
  // Gets what an operator wants to know, a line at a time, from any thread.
  std::function<void(const std::string&)> log = [](const std::string&) {};
};

}  // namespace bfly::control
