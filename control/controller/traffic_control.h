// SPDX-License-Identifier: Apache-2.0
// The built-in sources of the loaded fabric: started and stopped by name, and what they have sent.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/traffic.pb.h"
#include "control/controller/loaded_intent.h"
#include "control/controller/resources.h"
#include "control/events/event_log.h"

namespace bfly::control {

class TrafficControl {
 public:
  TrafficControl(LoadedIntent& intent, Resources& resources, EventLog& events)
      : intent_(intent), resources_(resources), events_(events) {}

  // Starts sources beside those that run. A source replaces those of the same name.
  absl::Status Start(Traffic::Sources sources, uint64_t election_id, Deadline deadline);
  // Stops the sources of these names, or all without names. NOT_FOUND: no source has the name.
  absl::Status Stop(const std::vector<std::string>& names, uint64_t election_id, Deadline deadline);
  // UNAVAILABLE: a data plane does not answer, or runs a fabric of somebody else.
  absl::StatusOr<v1::ListTrafficResponse> List(bool histogram, Deadline deadline) const;

  // Has the data plane run the sources of the intent if it is that of stage 0, and record the
  // latencies that the intent wants. Needs the change lock.
  absl::Status Reconcile(DataPlane& plane, const v1::AgentState& held, Deadline deadline) const;

 private:
  // Sets the traffic at all data planes or at none. Needs the change lock.
  absl::Status Set(Traffic traffic, Deadline deadline);
  // Tells the resources how many rows the sources of the intent send from. Needs the change lock.
  void CountRows() const;
  // Adds an event of the sources of `those` that are not among `others`.
  void Note(v1::TrafficEvent::Change change, const Traffic& those, const Traffic& others);

  LoadedIntent& intent_;
  Resources& resources_;
  EventLog& events_;
};

}  // namespace bfly::control
