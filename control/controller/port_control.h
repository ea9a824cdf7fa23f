// SPDX-License-Identifier: Apache-2.0
// The host ports of the loaded fabric: added and removed while it runs.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bfly/v1/agent.pb.h"
#include "bfly/v1/events.pb.h"
#include "bfly/v1/fabric.pb.h"
#include "control/controller/loaded_intent.h"
#include "control/events/event_log.h"

namespace bfly::control {

class PortControl {
 public:
  PortControl(LoadedIntent& intent, EventLog& events) : intent_(intent), events_(events) {}

  // All data planes hear of the change or none does: if one fails, the others get back the ports of
  // before. INVALID_ARGUMENT and FAILED_PRECONDITION name the field under "port". NOT_FOUND: no
  // port has this name.
  absl::StatusOr<v1::AddPortResponse> Add(const v1::AddPortRequest& request, Deadline deadline);
  absl::StatusOr<v1::RemovePortResponse> Remove(const v1::RemovePortRequest& request,
                                                Deadline deadline);
  absl::StatusOr<v1::GetPortsResponse> Get() const;

  // If the data plane runs the fabric of the intent with other ports, it gets those of the intent,
  // and `held` has them then. Needs the change lock.
  absl::Status Reconcile(DataPlane& plane, v1::AgentState& held, Deadline deadline) const;

 private:
  // `next` is the topology with its new ports. Needs the change lock.
  absl::Status Change(v1::Topology next, v1::PortChanges changes, Deadline deadline);

  void Note(v1::PortEvent::Change change, const v1::HostPort& port);

  LoadedIntent& intent_;
  EventLog& events_;
};

}  // namespace bfly::control
