// SPDX-License-Identifier: Apache-2.0
// Makes events of what becomes of data planes, of their workers and of their ports. The watching
// thread shows it what is known of each after every look.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bfly/v1/agent.pb.h"
#include "control/controller/data_plane.h"
#include "control/events/event_log.h"

namespace bfly::control {

// One thread uses it.
class PlaneEvents {
 public:
  using Clock = std::chrono::steady_clock;

  // A worker that has begun no pass for `patience` counts as hung.
  PlaneEvents(EventLog& events, std::chrono::milliseconds patience)
      : events_(events), patience_(patience) {}

  // `ours`: the data plane is part of the loaded fabric.
  void Look(const DataPlane& plane, bool ours, Clock::time_point now);
  // Other data planes are watched no longer.
  void KeepOnly(const std::vector<std::shared_ptr<DataPlane>>& planes);

 private:
  struct Worker {
    uint64_t passes = 0;
    Clock::time_point moved;
    bool hung = false;
  };
  // The state of a data plane at the last look, with which the next look is compared.
  struct Told {
    bool reachable = false, in_step = false;
    std::string problem;
    std::string boot_id;       // when it was last in step
    std::string seen_boot_id;  // when it was last reached
    uint64_t reconciled = 0;
    std::map<uint32_t, Worker> workers;  // by lcore
    bool workers_died = false;           // the last event of these workers
    std::map<std::string, v1::AgentPort> ports;
  };

  // Tells which workers are lost with their process, and keeps those that may come back.
  void LookForEnd(const std::string& plane, const DataPlane::Known& known, Clock::time_point now,
                  Told& told);
  struct Standing {
    bool ours = false;   // the data plane is part of the loaded fabric
    bool first = false;  // this is the first look at it
  };
  void LookAtPlane(const DataPlane& plane, const DataPlane::Known& known, Standing standing,
                   Told& told);
  void LookAtWorkers(const std::string& plane, const DataPlane::Known& known, Clock::time_point now,
                     Told& told);
  void LookAtPorts(const std::string& plane, const DataPlane::Known& known, Told& told);
  void AddWorkers(const std::string& plane, v1::WorkersEvent::Change change,
                  v1::Event::Severity severity, const std::vector<uint32_t>& lcores);

  EventLog& events_;
  const std::chrono::milliseconds patience_;
  std::map<const DataPlane*, Told> told_;
};

}  // namespace bfly::control
